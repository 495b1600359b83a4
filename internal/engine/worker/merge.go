package worker

import (
	"errors"
	"os"

	"github.com/warpld/warpld/internal/merge"
)

// mergeParts merges relocatable cubins; merge.DoFiles has the details.
func mergeParts(args []string) error {
	files, said, err := merge.DoFiles(args, os.ReadFile)
	os.Stderr.WriteString(said)
	for name, content := range files {
		data, readErr := content.Read()
		err = errors.Join(err, readErr, write(name, data))
	}
	return err
}
