package score

import "fmt"

// guard marks the servers that are overloaded.
func (c Config) guard(servers []Ranked) {
	flying := 0
	for _, s := range servers {
		flying += s.InFlight
	}
	for i := range servers {
		s := &servers[i]
		mean := float64(flying) / float64(len(servers))
		switch why := c.over(s.State); {
		case why != "":
			s.Overloaded = why
		case float64(s.InFlight) > 2*mean+float64(c.MaxInFlight):
			s.Overloaded = fmt.Sprintf("%d requests in flight, more than 2 x %.3g + %d", s.InFlight, mean, c.MaxInFlight)
		}
	}
}

// over says which bound a server tells to be over; "" if none.
func (c Config) over(s State) string {
	switch {
	case !s.Known:
		return ""
	case s.Waiting > c.MaxWaiting:
		return fmt.Sprintf("%d requests wait, more than %d", s.Waiting, c.MaxWaiting)
	case s.KVCache > c.MaxKVCache:
		return fmt.Sprintf("%.3g of the KV cache is in use, more than %.3g", s.KVCache, c.MaxKVCache)
	}
	return ""
}

// saturated: all servers tell so. One that tells nothing may have room.
func (c Config) saturated(servers []Ranked) bool {
	for _, s := range servers {
		if c.over(s.State) == "" {
			return false
		}
	}
	return len(servers) > 0
}
