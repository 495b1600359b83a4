package compose

import "fmt"

// A Reason is why a file is not composed. Its text completes "the program is assembled as a
// whole:".
type Reason string

// The reasons.
const (
	Damaged          Reason = "the file of a unit is damaged"
	Mismatch         Reason = "there is not one file for each unit"
	Target           Reason = "its architecture or release was not measured"
	Disagree         Reason = "the files of units disagree about the module"
	UnknownSection   Reason = "a unit has a section that no rule covers"
	UnknownSymbol    Reason = "a unit has a symbol that no rule covers"
	UnknownName      Reason = "a unit has a name that no rule covers"
	UnknownAttribute Reason = "a unit has an attribute that no rule covers"
	UnknownCall      Reason = "a unit has a row of the call graph that no rule covers"
	UnknownLines     Reason = "a unit has line numbers that no rule covers"
	MissingKernel    Reason = "a unit lacks one of its kernels"
	TooLarge         Reason = "the file would be too large"
)

// A Refused is the error for files that no rule covers.
type Refused struct {
	Reason Reason
	Unit   int    // the place of the unit, -1: all of them
	Name   string // the section, symbol or attribute, or empty
	Cause  error  // why the file cannot be read, or nil
}

func (r *Refused) Error() string {
	text := string(r.Reason)
	if r.Name != "" {
		text += ": " + r.Name
	}
	if r.Unit >= 0 {
		text += fmt.Sprintf(" (unit %d)", r.Unit)
	}
	if r.Cause != nil {
		text += ": " + r.Cause.Error()
	}
	return text
}

func (r *Refused) Unwrap() error { return r.Cause }

func refuse(reason Reason, u *unit, name string) error {
	r := &Refused{Reason: reason, Unit: -1, Name: name}
	if u != nil {
		r.Unit = u.place
	}
	return r
}
