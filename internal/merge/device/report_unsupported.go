package device

import (
	"fmt"

	"github.com/warpld/warpld/internal/message"
)

// Unsupported says that the rules don't cover something in an input or in the
// options. The vendor's merger can do the link.
type Unsupported struct {
	Input string // empty: the link as a whole
	What  string
}

func (u *Unsupported) Error() string {
	if u.Input == "" {
		return "the merger does not know " + u.What
	}
	return fmt.Sprintf("%s: the merger does not know %s", u.Input, u.What)
}

func unsupported(input, format string, args ...any) error {
	return &Unsupported{Input: input, What: fmt.Sprintf(format, args...)}
}

// damaged is the error for an input that contradicts itself.
func damaged(input string, cause error) error {
	return &message.Message{Severity: message.Fatal, ID: "bad-cubin", Origin: message.Origin{File: input},
		Text: fmt.Sprintf("the device code of '%s' is damaged: %v", input, cause), Cause: cause,
		Hint: "compile the object again"}
}

func damage(input, format string, args ...any) error {
	return damaged(input, fmt.Errorf(format, args...))
}
