package scale

import (
	"math"
	"slices"
	"testing"
	"time"
)

// even is a link of n steps of a second each that need nothing of each other.
func even(n int) *Trace {
	t := &Trace{}
	for range n {
		t.Jobs = append(t.Jobs, Job{Label: "compile", Work: time.Second, Sent: 1 << 20, Received: 1 << 20})
	}
	return t
}

func TestPredict(t *testing.T) {
	chain := &Trace{Client: time.Second,
		Jobs: []Job{{Work: time.Second, Here: true}, {Work: 2 * time.Second, After: []int{0}},
			{Work: time.Second, After: []int{0, 1}}}}
	for _, test := range []struct {
		name    string
		trace   *Trace
		cluster Cluster
		seconds float64
		there   int
	}{
		{"here alone", even(8), Cluster{Here: 2}, 4, 0},
		{"two workers", even(8), Cluster{Workers: 2}, 4, 8},
		{"workers and here", even(8), Cluster{Workers: 3, Here: 1}, 2, 6},
		{"four workers on two processors", even(8), Cluster{Workers: 4, Cores: 2}, 4, 8},
		{"all on one machine", even(8), Cluster{Workers: 4, Here: 4, HereCores: 2, Shared: true}, 4, 4},
		{"costs", even(2), Cluster{Workers: 1, Trip: 25 * time.Millisecond, Overhead: 100 * time.Millisecond,
			Rate: 4 << 20}, 2 * (1 + 0.1 + 0.1 + 0.5), 2},
		{"one after the other", chain, Cluster{Workers: 9, Here: 1}, 5, 2},
	} {
		p := Predict(test.trace, test.cluster)
		if math.Abs(p.Wall.Seconds()-test.seconds) > 1e-3 || p.There != test.there {
			t.Errorf("%s: %v with %d steps there, want %v s with %d", test.name, p.Wall, p.There, test.seconds, test.there)
		}
	}
}

func TestReadTrace(t *testing.T) {
	trace, err := ReadTrace("testdata/fast64.json")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for i, j := range trace.Jobs {
		count[j.Label]++
		if slices.ContainsFunc(j.After, func(before int) bool { return before >= i }) {
			t.Errorf("step %d waits for a later one", i)
		}
	}
	last := trace.Jobs[len(trace.Jobs)-1]
	if count["compile"] != 28 || count["assemble"] != 29 || last.Label != "merge" || len(last.After) != 29 ||
		trace.Client <= 0 {
		t.Errorf("%v, at last %+v; the client takes %v", count, last, trace.Client)
	}
	if _, err := ReadTrace("simulate_test.go"); err == nil {
		t.Error("this is no record")
	}
}

func TestLoad(t *testing.T) {
	trace, err := ReadTrace("testdata/fast64.json")
	if err != nil {
		t.Fatal(err)
	}
	all := Load(trace, Day{Links: 86400, Again: 1, Peak: 1})
	none := Load(trace, Day{Links: 86400, Again: 0, Peak: 1})
	if math.Abs(all.Processors-8.92) > 0.1 || all.Requests != 1+2*60 || none.Processors != 0 || none.Requests != 1 {
		t.Errorf("%+v, with all results known %+v", all, none)
	}
}
