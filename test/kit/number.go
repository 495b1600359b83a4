package kit

import (
	"os"
	"strconv"
	"testing"
)

// Number returns the number in an environment variable, or otherwise if it is not set.
func Number(tb testing.TB, variable string, otherwise int) int {
	tb.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatalf("%s: %v", variable, err)
	}
	return n
}
