package scale

import (
	"math"
	"time"
)

// A Cluster is what a link runs on. The zero values of costs are none.
type Cluster struct {
	Workers int // each does one step at a time
	Here    int // steps that the client does at a time
	// Cores are the processors that workers have together; zero stands for one each. HereCores
	// are the client's; with Shared the workers use those too.
	Cores, HereCores int
	Shared           bool
	Trip             time.Duration // question and answer
	Overhead         time.Duration // of an execution, beside questions and work
	Rate             float64       // of transfers, bytes a second, or zero for no limit
}

// trips is how often a client waits for an answer on the way to a result.
const trips = 4

// A Prediction is what becomes of a link.
type Prediction struct {
	Wall     time.Duration
	There    int           // steps that workers did
	Busy     time.Duration // of all workers together
	Sent     int64         // bytes
	Received int64
}

// running is a step on its way: first what takes time but no processor, then work.
type running struct {
	job    int
	there  bool
	wait   float64 // seconds
	remain float64
}

// Predict lets a link run on a cluster. Of the steps that are ready the longest goes
// first, to a worker if one is free.
func Predict(t *Trace, c Cluster) Prediction {
	var p Prediction
	left := make([]int, len(t.Jobs))
	state := make([]int, len(t.Jobs)) // 0 waits, 1 runs, 2 is done
	for i, j := range t.Jobs {
		left[i] = len(j.After)
	}
	var on []running
	now := 0.0
	for done := 0; done < len(t.Jobs); {
		on = c.begin(t, left, state, on, &p)
		rateThere, rateHere := c.rates(on)
		step := math.Inf(1)
		for _, r := range on {
			step = min(step, r.ends(rateThere, rateHere))
		}
		now += step
		rest := on[:0]
		for _, r := range on {
			if r.there {
				p.Busy += time.Duration(step * float64(time.Second))
			}
			if !r.advance(step, rateThere, rateHere) {
				rest = append(rest, r)
				continue
			}
			done++
			state[r.job] = 2
			for i := range t.Jobs {
				for _, before := range t.Jobs[i].After {
					if before == r.job {
						left[i]--
					}
				}
			}
		}
		on = rest
	}
	p.Wall = t.Client + time.Duration(now*float64(time.Second))
	return p
}

// begin starts what can be started.
func (c Cluster) begin(t *Trace, left, state []int, on []running, p *Prediction) []running {
	free, here := c.Workers, c.Here
	for _, r := range on {
		if r.there {
			free--
		} else {
			here--
		}
	}
	for {
		next := -1
		for i, j := range t.Jobs {
			can := here > 0 || (free > 0 && !j.Here)
			if state[i] == 0 && left[i] == 0 && can && (next < 0 || j.Work > t.Jobs[next].Work) {
				next = i
			}
		}
		if next < 0 {
			return on
		}
		j := t.Jobs[next]
		r := running{job: next, remain: j.Work.Seconds()}
		if free > 0 && !j.Here {
			free--
			r.there, r.wait = true, (trips * c.Trip).Seconds()
			if c.Shared { // the servers need the same processors
				r.remain += c.Overhead.Seconds()
			} else {
				r.wait += c.Overhead.Seconds()
			}
			if c.Rate > 0 {
				r.wait += float64(j.Sent+j.Received) / c.Rate
			}
			p.There, p.Sent, p.Received = p.There+1, p.Sent+j.Sent, p.Received+j.Received
		} else {
			here--
		}
		state[next] = 1
		on = append(on, r)
	}
}

// rates is how fast work goes on: processors are shared by all that need one.
func (c Cluster) rates(on []running) (there, here float64) {
	working := map[bool]int{}
	for _, r := range on {
		if r.wait <= 0 {
			working[r.there]++
		}
	}
	share := func(cores, n int) float64 {
		if cores == 0 || n <= cores {
			return 1
		}
		return float64(cores) / float64(n)
	}
	if c.Shared {
		both := share(c.HereCores, working[true]+working[false])
		return both, both
	}
	return share(c.Cores, working[true]), share(c.HereCores, working[false])
}

func (r *running) speed(there, here float64) float64 {
	if r.there {
		return there
	}
	return here
}

// ends is how long until the step changes its state, if all goes on as now.
func (r *running) ends(there, here float64) float64 {
	if r.wait > 0 {
		return r.wait
	}
	return r.remain / r.speed(there, here)
}

// advance lets time go by and reports whether the step is done.
func (r *running) advance(step, there, here float64) bool {
	const least = 1e-9
	if r.wait > 0 {
		r.wait -= step
		if r.wait < least {
			r.wait = 0
		}
		return r.wait == 0 && r.remain < least
	}
	r.remain -= step * r.speed(there, here)
	return r.remain < least
}
