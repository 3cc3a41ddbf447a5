package loadbalancer

import (
	"fmt"
	"math/big"
	"time"

	"cardea.dev/cardea/extend"
)

// Value is the choice as read.
type Value struct {
	By               Algorithm // "": it is wrong, and nothing is stated
	Choices          *uint32
	MinSize, MaxSize *uint32 // of a ring
	TableSize        *uint32 // of maglev
	Keys             []Key
	BoundedLoad      *uint32 // percent
	Picked           bool    // it has no effect, since a picker chooses
}

// pickerWarning says why a choice has no effect.
const pickerWarning = "it has no effect on an InferencePool with failureMode FailClose: only the picker chooses " +
	"endpoints"

func describeValue(v Value) []string {
	if v.Picked {
		return []string{pickerWarning}
	}
	return nil
}

// Algorithm is how an endpoint is chosen.
type Algorithm string

// How an endpoint is chosen.
const (
	LeastRequests Algorithm = "leastRequest"
	RoundRobin    Algorithm = "roundRobin"
	Random        Algorithm = "random"
	Ring          Algorithm = "ringHash"
	MaglevTable   Algorithm = "maglev"
)

// Key is a part of requests; one of its fields is stated.
type Key struct {
	Header, Query string
	Cookie        *Cookie
	ClientAddress bool
}

// Cookie is a cookie, which the proxy sets if TTL is stated.
type Cookie struct {
	Name, Path, SameSite string
	TTL                  *time.Duration
	Secure               bool
}

// defaultMinSize is that of Envoy's rings.
const defaultMinSize = 1024

func readSpec(r extend.Reader, s Spec) (v Value) {
	if v.Picked = r.Location().Picked; v.Picked {
		r.Warn(pickerWarning)
	}
	var stated []Algorithm
	for _, a := range []struct {
		is bool
		of Algorithm
	}{
		{s.LeastRequest != nil, LeastRequests}, {s.RoundRobin != nil, RoundRobin}, {s.Random != nil, Random},
		{s.RingHash != nil, Ring}, {s.Maglev != nil, MaglevTable},
	} {
		if a.is {
			stated = append(stated, a.of)
		}
	}
	if len(stated) != 1 {
		r.Refuse(fmt.Sprintf("%d of leastRequest, roundRobin, random, ringHash and maglev are stated; state one",
			len(stated)))
		return v
	}
	ok := true
	refuse := func(field, message string) {
		r.Field(field).Refuse(message)
		ok = false
	}
	if hashes := stated[0] == Ring || stated[0] == MaglevTable; hashes {
		v.Keys, ok = readKeys(r, s.Hash)
		if len(s.Hash) == 0 {
			refuse("hash", "it is missing; name the parts of a request that are hashed: requests with the same values get "+
				"the same endpoint")
		}
		v.BoundedLoad = toUint32(s.BoundedLoad)
	} else {
		if len(s.Hash) > 0 {
			refuse("hash", fmt.Sprintf("%s uses no keys; state ringHash or maglev, or leave the keys out", stated[0]))
		}
		if s.BoundedLoad != nil {
			refuse("boundedLoad", fmt.Sprintf("%s has no bound; state ringHash or maglev, or leave it out", stated[0]))
		}
	}
	switch {
	case s.LeastRequest != nil:
		v.Choices = toUint32(s.LeastRequest.Choices)
	case s.RingHash != nil:
		v.MinSize, v.MaxSize = toUint32(s.RingHash.MinSize), toUint32(s.RingHash.MaxSize)
		switch {
		case v.MaxSize == nil:
		case v.MinSize == nil && *v.MaxSize < defaultMinSize:
			v.MinSize = v.MaxSize
		case v.MinSize != nil && *v.MinSize > *v.MaxSize:
			refuse("ringHash", "minSize is above maxSize; write a smaller one")
		}
	case s.Maglev != nil && s.Maglev.TableSize != nil:
		v.TableSize = toUint32(s.Maglev.TableSize)
		if n := int64(*v.TableSize); !big.NewInt(n).ProbablyPrime(0) {
			refuse("maglev.tableSize", fmt.Sprintf("%d is not a prime number; write %d", n, primeFrom(n)))
		}
	}
	if ok {
		v.By = stated[0]
	}
	return v
}

// primeFrom is the next prime number, or the largest that is taken.
func primeFrom(n int64) int64 {
	for ; n < maxTableSize; n++ {
		if big.NewInt(n).ProbablyPrime(0) { // exact below 2^64
			return n
		}
	}
	return maxTableSize
}

// maxTableSize is the largest table that Envoy takes.
const maxTableSize = 5000011

func readKeys(r extend.Reader, stated []extend.HashKey) (list []Key, ok bool) {
	ok = true
	for i, k := range stated {
		problems := k.Validate()
		extend.Refuse(r, fmt.Sprintf("hash[%d]", i), problems)
		if len(problems) > 0 {
			ok = false
			continue
		}
		list = append(list, Key{
			Header: stringOrEmpty(k.Header), Query: stringOrEmpty(k.Query), Cookie: readCookie(k.Cookie),
			ClientAddress: k.ClientAddress != nil,
		})
	}
	return list, ok
}

func readCookie(c *extend.HashCookie) *Cookie {
	if c == nil {
		return nil
	}
	own := &Cookie{Name: c.Name, Path: stringOrEmpty(c.Path), SameSite: stringOrEmpty((*string)(c.SameSite))}
	own.Secure = c.Secure != nil && *c.Secure
	if c.TTL != nil {
		if ttl, err := extend.Duration(*c.TTL); err == nil { // Validate has seen to it
			own.TTL = &ttl
		}
		if own.Path == "" {
			own.Path = "/"
		}
	}
	return own
}

func stringOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func toUint32(n *int32) *uint32 {
	if n == nil {
		return nil
	}
	return new(uint32(*n))
}
