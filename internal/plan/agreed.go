package plan

// An AgreedOption is the consensus on one option in words, for people.
type AgreedOption struct {
	Name  string
	Value string // empty: the default
	Said  []Group
}

// A Group is the objects that say the same.
type Group struct {
	Value  string // empty: not given
	Inputs []string
}

// Options lists the consensus on every option that some object was asked about.
func (a *Agreed) Options() []AgreedOption {
	var list []AgreedOption
	for _, t := range all {
		op := t.opinion(a)
		if op.State == Unseen {
			continue
		}
		o := AgreedOption{Name: t.name, Said: op.groups(t)}
		if op.known() {
			o.Value = t.text(op.Value)
		}
		list = append(list, o)
	}
	return list
}

// groups puts the objects that say the same together, first seen first.
func (o *Consensus) groups(t tracked) []Group {
	var groups []Group
	place := map[string]int{}
	for _, s := range o.Votes {
		value := ""
		if s.Given {
			value = t.text(s.Value)
		}
		at, known := place[value]
		if !known {
			at = len(groups)
			place[value] = at
			groups = append(groups, Group{Value: value})
		}
		groups[at].Inputs = append(groups[at].Inputs, s.Origin.String())
	}
	return groups
}
