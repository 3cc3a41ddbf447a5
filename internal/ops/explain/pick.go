package explain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/epp"
	"cardea.dev/cardea/internal/epp/objectives"
	"cardea.dev/cardea/internal/epp/score"
)

// Pick is which endpoint a picker would choose for a request now, and why.
type Pick struct {
	*epp.Explanation
	Problem string `json:"problem,omitempty"` // why the picker can't be asked
}

const (
	pickerTimeout = time.Second // for all pickers of one question together
	maxPickBytes  = 4 << 20     // bytes of an answer: some thousand servers
)

// pickerReads are the headers that a picker reads. No others are sent: the way to a picker in a cluster is not
// encrypted, and the question may contain a password.
var pickerReads = []string{objectives.Header, objectives.NumberHeader}

// pickerClient asks pickers. No proxy of the environment stands between, and a picker redirects nobody.
var pickerClient = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// addPicks asks the pickers of outcomes.
func (e *Explainer) addPicks(list []Outcome, sent request.Request, body string) {
	ctx, cancel := context.WithTimeout(context.Background(), pickerTimeout)
	defer cancel()
	for i := range list {
		e.addPick(ctx, &list[i], sent, body)
	}
}

// addPick asks the picker that Cardea runs for an outcome's pool. No View is open: a process is asked.
func (e *Explainer) addPick(ctx context.Context, o *Outcome, sent request.Request, body string) {
	if e.config.Picker == nil || o.pool.Name() == "" {
		return
	}
	base, serves := e.config.Picker(o.pool)
	if !serves {
		o.Pick = &Pick{Problem: "it does not serve"}
		return
	}
	answer, err := askPicker(ctx, base, sent, body)
	if err != nil {
		o.Pick = &Pick{Problem: err.Error()}
		return
	}
	o.Pick = &Pick{Explanation: answer}
}

// askPicker sends a picker what it reads of a request.
func askPicker(ctx context.Context, base string, sent request.Request, body string) (*epp.Explanation, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/explain"+sent.Path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Host = sent.Host
	for _, name := range pickerReads {
		r.Header[http.CanonicalHeaderKey(name)] = sent.Header.Values(name)
	}
	answer, err := pickerClient.Do(r)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("it does not answer within %v", pickerTimeout)
	}
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", answer.Status)
	}
	var told epp.Explanation
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxPickBytes)).Decode(&told); err != nil {
		return nil, fmt.Errorf("its answer can't be read: %w", err)
	}
	return &told, nil
}

// printPick tells what a picker said.
func (p *page) printPick(is Pick) {
	switch {
	case is.Explanation == nil:
		p.addLine("", "the picker can't be asked: %s", is.Problem)
		return
	case is.Status != http.StatusOK:
		p.addLine("", "now it would be answered %d: %s", is.Status, model.EscapeUnprintable(is.Reason))
	case len(is.Endpoints) > 0:
		text := "now " + model.EscapeUnprintable(is.Endpoints[0])
		if is.Method != score.ByScores {
			text += model.EscapeUnprintable(fmt.Sprintf(" (%s)", is.Method))
		}
		if others := is.Endpoints[1:]; len(others) > 0 {
			text += ", or if that can't be reached " + model.EscapeUnprintable(strings.Join(others, ", then "))
		}
		p.addLine("", "%s", text)
	}
	if r := is.Rewrite; r != nil {
		text := fmt.Sprintf("its model %q is replaced by %q", is.Prompt.Model, r.Model)
		if is.Prompt.Model == "" {
			text = fmt.Sprintf("it names no model and gets %q", r.Model)
		}
		if r.Weight < r.Total {
			text += fmt.Sprintf(", as %d of %d such requests are, at random", r.Weight, r.Total)
		}
		p.addLine("", "%s", model.EscapeUnprintable(fmt.Sprintf("%s (InferenceModelRewrite %s)", text, r.By)))
	}
	for _, s := range is.Servers[:min(maxNear, len(is.Servers))] {
		p.addLine("", "%s", model.EscapeUnprintable(serverText(s)))
	}
	if more := len(is.Servers) - maxNear; more > 0 {
		p.addLine("", "and %d more servers", more)
	}
}

// serverText is a server's total, and what it is the sum of.
func serverText(s epp.ExplainedServer) string {
	var parts []string
	for _, by := range s.Scores {
		parts = append(parts, fmt.Sprintf("%s %.3g x %.3g", by.Name, by.Weight, by.Value))
	}
	text := fmt.Sprintf("%s: %.3g = %s", joinNonEmpty(s.Endpoint, s.Name), s.Total, strings.Join(parts, " + "))
	switch {
	case s.State.Gone:
		text += "; it no longer reports its load"
	case !s.State.Known:
		text += "; its load is not known"
	}
	if s.Overloaded != "" {
		text += "; overloaded: " + s.Overloaded
	}
	return text
}
