package scale

// A Day is what a team asks of a cluster.
type Day struct {
	Links float64
	// Again is the part of the steps of a link that must be run: the rest, or the
	// whole link if nothing has changed, is found.
	Again float64
	// Peak is how much more than the average the busiest hour asks.
	Peak float64
}

// A Demand is what that takes, at the peak but for what is kept.
type Demand struct {
	Processors float64 // that are busy
	Requests   float64 // a second, of the action cache
	Transfers  float64 // bytes a second, in and out of the storage
	Kept       float64 // bytes that a day adds
}

// Load adds up what a day of links like a trace takes. A link asks for itself first, and
// if it is not found, for each step; a step that is run is asked for, and its result
// stored. Inputs of those go to the storage and to a worker, outputs to the storage and
// to a client; what is found goes to a client only.
func Load(t *Trace, d Day) Demand {
	const day = 86400
	var work, sent, received float64
	for _, j := range t.Jobs {
		work += j.Work.Seconds()
		sent, received = sent+float64(j.Sent), received+float64(j.Received)
	}
	rate := d.Links / day * d.Peak
	if d.Again == 0 { // the last step gives the result of the link
		return Demand{Requests: rate, Transfers: rate * float64(t.Jobs[len(t.Jobs)-1].Received)}
	}
	return Demand{
		Processors: rate * d.Again * work,
		Requests:   rate * (1 + float64(len(t.Jobs))*(1+d.Again)),
		Transfers:  rate * (d.Again*2*(sent+received) + (1-d.Again)*received),
		Kept:       d.Links * d.Again * (sent + received),
	}
}
