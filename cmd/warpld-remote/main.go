// Warpld-remote holds the connection of links to a server of the Remote Execution API. warpld
// starts it if a link uses a server; it ends some time after the last link. Nobody else has to
// start it.
package main

import (
	"fmt"
	"os"

	"github.com/warpld/warpld/internal/action/remote"
	"github.com/warpld/warpld/internal/action/remote/reapi"
	"github.com/warpld/warpld/internal/action/remote/service"
	"github.com/warpld/warpld/internal/version"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Println(version.Full())
		return
	}
	if err := service.Serve(os.Stdin, dial); err != nil {
		fmt.Fprintln(os.Stderr, "warpld-remote:", err)
		os.Exit(1)
	}
}

func dial(s remote.Settings) (service.Backend, error) {
	return reapi.Dial(s)
}
