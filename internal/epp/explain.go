package epp

import (
	"encoding/json"
	"net/http"

	"cardea.dev/cardea/internal/epp/score"
)

// Explanation says which endpoint would be picked for a request now, and why. It is JSON at /explain.
type Explanation struct {
	Status    int               `json:"status"`           // 200: it would be sent; else what the client would get
	Reason    string            `json:"reason,omitempty"` // of a status that is not 200
	Endpoints []string          `json:"endpoints"`        // the best one, and its fallbacks
	Method    score.RankMethod  `json:"way,omitempty"`
	Saturated bool              `json:"saturated,omitempty"`
	Prompt    ExplainedPrompt   `json:"prompt"`
	Rewrite   *ExplainedRewrite `json:"rewrite,omitempty"` // nil: the request gets the model that it asks for
	Servers   []ExplainedServer `json:"servers"`           // the best one first
}

// ExplainedPrompt is what was read of the request.
type ExplainedPrompt struct {
	Kind      string `json:"kind"`
	Model     string `json:"model,omitempty"`
	Complete  bool   `json:"complete"` // the body was read to its end
	TextBytes int    `json:"textBytes"`
	Blocks    int    `json:"blocks"`
	// BlockBytes is how much of the text is in whole blocks: what servers may know.
	BlockBytes int `json:"blockBytes"`
	Priority   int `json:"priority"`
}

// ExplainedRewrite is the model that the request gets for the one that it asks for. If there are several, it is one at
// random.
type ExplainedRewrite struct {
	Model  string `json:"model"`
	By     string `json:"by"`     // the name of the InferenceModelRewrite
	Weight int    `json:"weight"` // so much of
	Total  int    `json:"total"`  // this much of the requests
}

// ExplainedServer is a server with its scores.
type ExplainedServer struct {
	Endpoint   string           `json:"endpoint"`
	Name       string           `json:"name,omitempty"`
	Zone       string           `json:"zone,omitempty"`
	Total      float64          `json:"total"`
	Scores     []ExplainedScore `json:"scores"`
	Overloaded string           `json:"overloaded,omitempty"` // why its prefix does not count
	Matched    int              `json:"matched"`              // bytes of the blocks
	InFlight   int              `json:"inFlight"`
	State      score.State      `json:"state"`
}

// ExplainedScore is one score, from 0 to 1, and what it weighs.
type ExplainedScore struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Weight float64 `json:"weight"`
}

// explainCall decides for a request and changes nothing.
func (p *Picker) explainCall(c call) Explanation {
	d := p.decideCall(c)
	e := Explanation{
		Status: http.StatusOK, Endpoints: d.endpoints, Method: d.ranking.Method, Saturated: d.ranking.Saturated,
		Prompt: ExplainedPrompt{
			Kind: d.parsed.Kind.String(), Model: d.parsed.Model, Complete: d.parsed.Complete, TextBytes: len(d.parsed.Text),
			Blocks: len(d.blocks), BlockBytes: d.bytes, Priority: d.priority,
		},
		Servers: []ExplainedServer{},
	}
	if c := d.rewrite; c.By != "" {
		e.Rewrite = &ExplainedRewrite{Model: c.Model, By: c.By, Weight: c.Weight, Total: c.Total}
	}
	if d.refused != nil {
		e.Status, e.Reason, e.Endpoints = d.refused.status, d.refused.text, []string{}
	}
	pool := p.pool.Load()
	for _, s := range d.ranking.Servers {
		x := ExplainedServer{
			Endpoint: s.Endpoint, Total: s.Total, Overloaded: s.Overloaded.String(), Matched: s.Matched, InFlight: s.InFlight,
			State: s.State, Scores: []ExplainedScore{},
		}
		for _, by := range s.Scores {
			x.Scores = append(x.Scores, ExplainedScore(by))
		}
		for _, m := range pool.members {
			if m.Address == s.Endpoint {
				x.Name, x.Zone = m.Name, m.Zone
			}
		}
		e.Servers = append(e.Servers, x)
	}
	return e
}

// errorBody is a refusal in the form of OpenAI's errors, which clients can read.
func errorBody(r *refusal) []byte {
	body, err := json.Marshal(map[string]any{"error": map[string]any{
		"message": r.text, "type": r.code, "code": r.status,
	}})
	if err != nil {
		panic(err) // strings and a number
	}
	return body
}
