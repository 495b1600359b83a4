package main

import "time"

// Results are those of a trial, as they are written in JSON.
type Results struct {
	About    About     `json:"about"`
	First    time.Time `json:"first"` // when links were made
	Last     time.Time `json:"last"`
	Programs []Program `json:"programs"`
}

// A Program is one with all its links.
type Program struct {
	Name  string `json:"name"`
	Files int    `json:"files"`
	// NotCompiled are the sources that failed, by setting.
	NotCompiled []Failure `json:"not_compiled,omitempty"`
	Links       []Link    `json:"links"`
}

// A Failure is a source that did not compile.
type Failure struct {
	Setting string `json:"setting"`
	Source  string `json:"source"`
	Error   string `json:"error"`
}

// The outcomes of a link.
const (
	Equal     = "equal"            // exit code, messages and all bytes
	Notes     = "equal but notes"  // nvlink merged for warpld, and recorded other command lines
	Refused   = "refused by both"  // with the same exit code and messages
	Different = "different"        // anything else
	Unknown   = "not comparable"   // nvlink crashed or did not end
	inSlices  = "in slices"        // what Fast says of a link that was cut
	byWarpld  = "warpld"           // what Merger says of a link that warpld merged
	byNvlink  = "nvlink: "         // before the reason why nvlink merged
	noMerge   = "nothing to merge" // a whole program, which ptxas completes
	notRun    = "was not linked: " // before the reason
)

// A Link is one program in one setting, linked by both linkers.
type Link struct {
	Toolkit string   `json:"toolkit"`
	Arch    string   `json:"arch"`
	Form    string   `json:"form"`
	Objects []string `json:"objects"`
	Exit    int      `json:"exit"` // nvlink's, as are the messages
	Stderr  string   `json:"stderr,omitempty"`
	Kernels int      `json:"kernels"`
	Outcome string   `json:"outcome"`
	// Problems are all differences of all modes, each with its mode in front.
	Problems []string `json:"problems,omitempty"`
	// Minimized are the objects that are needed for the first problem.
	Minimized []string `json:"minimized,omitempty"`
	// Fast is what fast mode did: cut the program into slices, or the reason why not.
	Fast   string `json:"fast,omitempty"`
	Merger string `json:"merger,omitempty"`
	// CPU is seconds by what ran: nvlink, exact, cached, fast.
	CPU map[string]float64 `json:"cpu"`
}

// setting names the link's toolkit, target and form.
func (l *Link) setting() string { return settingName(l.Toolkit, l.Arch, l.Form) }

func settingName(release, arch, form string) string { return release + " " + arch + " " + form }

// isGood reports whether the link went as nvlink's in every mode.
func (l *Link) isGood() bool { return len(l.Problems) == 0 }

// note takes the time of a link into account.
func (r *Results) note(t time.Time) {
	if r.First.IsZero() || t.Before(r.First) {
		r.First = t
	}
	if t.After(r.Last) {
		r.Last = t
	}
}
