package gpu

// madeUp is a row that no other test binary has: the tests of this package link for an
// architecture that was added to the table and nowhere else.
var madeUp = Row{Number: 199, Suffixes: "a", Family: 199, Generation: blackwell, SharedLimit: sharedLimit,
	Multiprocessor: multiprocessor(16, 8, 32)}

// MadeUp is the architecture of that row.
var MadeUp = Arch{Number: madeUp.Number}

func init() { table = append(table, madeUp) }
