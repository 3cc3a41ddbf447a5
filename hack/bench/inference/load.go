package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"cardea.dev/cardea/examples/inference/simulator"
)

// load is the requests of part b, and the servers that answer them. A token is a word of three letters and a space.
type load struct {
	seed          uint64
	requests      int
	rate          float64 // of requests, a second
	conversations int     // at a time; when one ends, another begins
	prompts       int     // system prompts; each conversation has one of them
	system        int     // tokens of a system prompt
	turns         int     // of a conversation
	question      int     // tokens of a question, at most
	oneOffs       float64 // the part of the requests that belongs to no conversation
	oneOff        int     // tokens of such a request, at most
	think         time.Duration
	servers       simulator.Settings
}

func defaults() load {
	l := load{
		seed: 1, requests: 1200, rate: 40, conversations: 32, system: 2000, turns: 10,
		question: 150, oneOffs: 0.25, oneOff: 1500, think: 400 * time.Millisecond, servers: simulator.Defaults(),
	}
	l.servers.Concurrency, l.servers.Start, l.servers.Decode = 4, 20*time.Millisecond, 20*time.Millisecond
	return l
}

func (l *load) flags(f *flag.FlagSet) {
	f.Uint64Var(&l.seed, "seed", l.seed, "b: of the requests and of their times")
	f.IntVar(&l.requests, "load", l.requests, "b: the number of requests")
	f.Float64Var(&l.rate, "rate", l.rate, "b: requests a second, on average, whether answers have come or not")
	f.IntVar(&l.conversations, "conversations", l.conversations, "b: conversations at a time")
	f.IntVar(&l.system, "system", l.system, "b: tokens of a system prompt")
	f.IntVar(&l.turns, "turns", l.turns, "b: questions of a conversation; then another begins")
	f.IntVar(&l.question, "question", l.question, "b: tokens of a question, at most")
	f.Float64Var(&l.oneOffs, "one-offs", l.oneOffs, "b: the part of the requests that belongs to no conversation")
	f.IntVar(&l.oneOff, "one-off", l.oneOff, "b: tokens of such a request, at most")
	f.DurationVar(&l.think, "think", l.think, "b: time between two questions of a conversation, at least")
	f.IntVar(&l.servers.Concurrency, "concurrency", l.servers.Concurrency, "b: requests that a server works on at a time")
	f.IntVar(&l.servers.CacheBlocks, "cache-blocks", l.servers.CacheBlocks, "b: blocks of a server's cache, of 16 tokens")
	f.DurationVar(&l.servers.Start, "start", l.servers.Start, "b: time before the first token, whatever is cached")
	f.DurationVar(&l.servers.Prefill, "prefill", l.servers.Prefill, "b: time for a token of a prompt that is not cached")
	f.DurationVar(&l.servers.Decode, "decode", l.servers.Decode, "b: time for a token of an answer")
	f.IntVar(&l.servers.Tokens, "tokens", l.servers.Tokens, "b: tokens of an answer")
}

func (l *load) check() error {
	switch {
	case l.requests < 1, l.rate <= 0, l.conversations < 1, l.turns < 1, l.oneOffs < 0, l.oneOffs > 1,
		l.system < 1, l.question < 1, l.oneOff < 1, l.servers.Concurrency < 1, l.servers.Tokens < 1:
		return errors.New("numbers of the load must be positive, and -one-offs is from 0 to 1")
	}
	return nil
}

// String is the settings in words.
func (l *load) String() string {
	s := l.servers
	return fmt.Sprintf("%d requests, seed %d, %g a second; %d conversations of %d turns, with system prompts of %d "+
		"tokens and questions of up to %d; %.0f%% one-off requests of up to %d tokens; %d servers: %d requests at a time, a "+
		"cache of %d blocks, %v for the start of an answer, %v for a token of the prompt, %v for one of the %d of the answer",
		l.requests, l.seed, l.rate, l.conversations, l.turns, l.system, l.question, 100*l.oneOffs, l.oneOff, servers,
		s.Concurrency, s.CacheBlocks, s.Start, s.Prefill, s.Decode, s.Tokens)
}

// question is a request, and when it is due.
type question struct {
	due  time.Duration // since the beginning
	body []byte
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// conversation is what was said since its beginning.
type conversation struct {
	said []message // the system prompt first
	last time.Duration
}

// plan is all requests. They depend on the settings only, not on when answers come: servers say the same words to
// everybody.
func (l *load) plan() (list []question) {
	r := rand.New(rand.NewPCG(l.seed, 0))
	var prompts []message
	for range l.prompts {
		prompts = append(prompts, message{"system", words(r, l.system)})
	}
	talks := make([]conversation, l.conversations)
	for i := range talks {
		talks[i] = conversation{said: []message{prompts[i%l.prompts]}, last: -l.think}
	}
	due := time.Duration(0)
	for range l.requests {
		due += time.Duration(r.ExpFloat64() / l.rate * float64(time.Second))
		said := []message{{"user", words(r, 1+r.IntN(l.oneOff))}}
		if r.Float64() >= l.oneOffs {
			if talk := l.next(r, talks, due); talk != nil {
				said = l.ask(r, talk, prompts)
			}
		}
		list = append(list, question{due, l.body(said)})
	}
	return list
}

// next is a conversation whose next question may come; nil if there is none.
func (l *load) next(r *rand.Rand, talks []conversation, due time.Duration) *conversation {
	first := r.IntN(len(talks))
	for i := range talks {
		if talk := &talks[(first+i)%len(talks)]; due-talk.last >= l.think {
			talk.last = due
			return talk
		}
	}
	return nil
}

// ask is the next question of a conversation, with all that was said before; after the last one, the first of another.
func (l *load) ask(r *rand.Rand, talk *conversation, prompts []message) []message {
	if len(talk.said) > 2*l.turns {
		talk.said = []message{prompts[r.IntN(len(prompts))]}
	}
	talk.said = append(talk.said, message{"user", words(r, 1+r.IntN(l.question))})
	said := talk.said
	var answer strings.Builder
	for i := range l.servers.Tokens {
		fmt.Fprintf(&answer, "word%d ", i)
	}
	talk.said = append(talk.said, message{"assistant", answer.String()})
	return said
}

func (l *load) body(said []message) []byte {
	body, err := json.Marshal(map[string]any{
		"model": l.servers.Model, "stream": true, "max_tokens": l.servers.Tokens, "messages": said,
	})
	if err != nil {
		panic(err) // words and numbers
	}
	return body
}

// words is a text of n tokens that has nothing in common with others.
func words(r *rand.Rand, n int) string {
	text := make([]byte, 0, 4*n)
	for range n {
		text = append(text, byte('a'+r.IntN(26)), byte('a'+r.IntN(26)), byte('a'+r.IntN(26)), ' ')
	}
	return string(text)
}
