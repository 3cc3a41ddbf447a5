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

// picked says why a choice has no effect.
const picked = "it has no effect on an InferencePool whose picker has to choose (failureMode FailClose)"

func words(v Value) []string {
	if v.Picked {
		return []string{picked}
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

// minSize is that of Envoy's rings.
const minSize = 1024

func read(r extend.Reader, s Spec) (v Value) {
	if v.Picked = r.Where().Picked; v.Picked {
		r.Warn(picked)
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
		v.Keys, ok = keys(r, s.Hash)
		if len(s.Hash) == 0 {
			refuse("hash", "it is not stated; name the parts of requests whose endpoint is to be the same")
		}
		v.BoundedLoad = number(s.BoundedLoad)
	} else {
		if len(s.Hash) > 0 {
			refuse("hash", fmt.Sprintf("%s looks at no keys; state ringHash or maglev, or leave the keys out", stated[0]))
		}
		if s.BoundedLoad != nil {
			refuse("boundedLoad", fmt.Sprintf("%s has no bound; state ringHash or maglev, or leave it out", stated[0]))
		}
	}
	switch {
	case s.LeastRequest != nil:
		v.Choices = number(s.LeastRequest.Choices)
	case s.RingHash != nil:
		v.MinSize, v.MaxSize = number(s.RingHash.MinSize), number(s.RingHash.MaxSize)
		switch {
		case v.MaxSize == nil:
		case v.MinSize == nil && *v.MaxSize < minSize:
			v.MinSize = v.MaxSize
		case v.MinSize != nil && *v.MinSize > *v.MaxSize:
			refuse("ringHash", "minSize is above maxSize; write a smaller one")
		}
	case s.Maglev != nil && s.Maglev.TableSize != nil:
		v.TableSize = number(s.Maglev.TableSize)
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
	for ; n < largest; n++ {
		if big.NewInt(n).ProbablyPrime(0) { // exact below 2^64
			return n
		}
	}
	return largest
}

// largest is the largest table that Envoy takes.
const largest = 5000011

func keys(r extend.Reader, stated []extend.HashKey) (list []Key, ok bool) {
	ok = true
	for i, k := range stated {
		problems := k.Validate()
		extend.Refuse(r, fmt.Sprintf("hash[%d]", i), problems)
		if len(problems) > 0 {
			ok = false
			continue
		}
		list = append(list, Key{
			Header: text(k.Header), Query: text(k.Query), Cookie: cookie(k.Cookie), ClientAddress: k.ClientAddress != nil,
		})
	}
	return list, ok
}

func cookie(c *extend.HashCookie) *Cookie {
	if c == nil {
		return nil
	}
	own := &Cookie{Name: c.Name, Path: text(c.Path), SameSite: text((*string)(c.SameSite))}
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

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func number(n *int32) *uint32 {
	if n == nil {
		return nil
	}
	return new(uint32(*n))
}
