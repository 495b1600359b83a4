package units

import (
	"fmt"

	"github.com/warpld/warpld/internal/ptx"
)

// A Reason is why a program is not cut. Its text completes "the program is assembled as a whole:".
type Reason string

// The reasons.
const (
	Unreadable      Reason = "its PTX cannot be read"
	NoKernels       Reason = "it has no kernels"
	Debug           Reason = "it has debug information (-g)"
	TargetMode      Reason = "the directive .target has an option"
	UnknownPart     Reason = "it has a directive that no rule covers"
	Alias           Reason = "it has an alias"
	Unified         Reason = "it has a symbol with an attribute that no rule covers"
	Reference       Reason = "it has a texture, sampler or surface reference"
	ExternVariable  Reason = "it has an external variable"
	CommonVariable  Reason = "it has a common symbol"
	Undefined       Reason = "it declares a function without defining it"
	Twice           Reason = "it defines a symbol twice"
	KernelAddress   Reason = "it uses the address of a kernel"
	ExternAddress   Reason = "it uses the address of an external function"
	HiddenName      Reason = "a local name is that of a symbol"
	ExternSignature Reason = "an external function has parameters that no rule covers"
	TableForm       Reason = "a variable with addresses of functions has a type that no rule covers"
	LinesAndTables  Reason = "it has line numbers and function pointers"
	TooLarge        Reason = "its units would be many times as large as it is"
)

// A Refused is the error for a program that no rule covers.
type Refused struct {
	Reason Reason
	// Name is the symbol or directive that no rule covers, or empty.
	Name string
	// Cause is why the text cannot be read, or nil.
	Cause error
}

func (r *Refused) Error() string {
	switch {
	case r.Cause != nil:
		return fmt.Sprintf("%s: %v", r.Reason, r.Cause)
	case r.Name != "":
		return fmt.Sprintf("%s: %s", r.Reason, r.Name)
	}
	return string(r.Reason)
}

func (r *Refused) Unwrap() error { return r.Cause }

func refuse(reason Reason, name string) error { return &Refused{Reason: reason, Name: name} }

// unreadable makes a *Refused of an error of package ptx.
func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return &Refused{Reason: Unreadable, Cause: err}
}

// refuseEntity refuses a part of the module.
func refuseEntity(reason Reason, e *ptx.Entity) error {
	if e.Name == "" {
		return refuse(reason, e.Kind)
	}
	return refuse(reason, e.Name)
}
