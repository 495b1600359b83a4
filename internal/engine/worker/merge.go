package worker

import (
	"errors"
	"os"

	"github.com/warpld/warpld/internal/merge"
)

// mergeParts merges relocatable cubins, as merge.Do says.
func mergeParts(args []string) error {
	files, said, err := merge.Do(args, os.ReadFile)
	os.Stderr.WriteString(said)
	for name, data := range files {
		err = errors.Join(err, write(name, data))
	}
	return err
}
