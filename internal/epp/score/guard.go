package score

import "fmt"

// Overload says why the prefix does not count for a server; the zero Overload is none. Its words are made only when
// somebody reads them: when all servers are busy, each request finds each of them overloaded.
type Overload struct {
	format         string // of is, most and mean, by their numbers
	is, most, mean float64
}

// IsSet is false if there is none.
func (o Overload) IsSet() bool { return o.format != "" }

// String is the reason in words; "" if there is none.
func (o Overload) String() string {
	if !o.IsSet() {
		return ""
	}
	return fmt.Sprintf(o.format, o.is, o.most, o.mean)
}

// markOverloaded marks the servers that are overloaded.
func (c Config) markOverloaded(servers []RankedServer) {
	flying := 0
	for _, s := range servers {
		flying += s.InFlight
	}
	mean, most := float64(flying)/float64(len(servers)), float64(c.MaxInFlight)
	for i := range servers {
		s := &servers[i]
		s.Overloaded = c.checkBounds(s.State)
		if is := float64(s.InFlight); !s.Overloaded.IsSet() && is > 2*mean+most {
			s.Overloaded = Overload{"%.0[1]f requests in flight, more than 2 x %.3[3]g + %.0[2]f", is, most, mean}
		}
	}
}

// checkBounds says which bound a server tells to be over.
func (c Config) checkBounds(s State) Overload {
	switch {
	case !s.Known:
	case s.Waiting > c.MaxWaiting:
		return Overload{
			format: "%.0[1]f requests wait, more than %.0[2]f", is: float64(s.Waiting), most: float64(c.MaxWaiting),
		}
	case s.KVCache > c.MaxKVCache:
		return Overload{
			format: "%.3[1]g of the KV cache is in use, more than %.3[2]g", is: s.KVCache, most: c.MaxKVCache,
		}
	}
	return Overload{}
}

// isSaturated: all servers tell so. One that tells nothing may have room.
func (c Config) isSaturated(servers []RankedServer) bool {
	for _, s := range servers {
		if !c.checkBounds(s.State).IsSet() {
			return false
		}
	}
	return len(servers) > 0
}
