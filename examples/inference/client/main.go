// Command client holds conversations with the models behind a gateway, and prints which server answered each turn, what
// it had cached of the prompt, and by which scores Cardea's picker chose it. At the end, it prints how much was cached
// of all.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

const (
	host        = "models.localhost"
	path        = "/v1/chat/completions"
	pool        = "inference/llama"
	waitTimeout = time.Minute // until the gateway serves, and its picker is asked
)

// client knows where to send requests, and whom to ask about them. It counts the tokens of prompts.
type client struct {
	gateway, admin string // base URLs
	tokens, cached int
	requests       int
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// answer is what is read of a model's answer.
type answer struct {
	Choices []struct{ Message message }
	Usage   struct {
		Prompt  int `json:"prompt_tokens"`
		Details struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

// story is what is read of an explanation: the servers of the pool, with their scores.
type story struct {
	Outcomes []struct {
		Pick struct {
			Servers []struct {
				Endpoint string
				Total    float64
				Scores   []struct {
					Name  string
					Value float64
				}
			}
		}
	}
}

func main() {
	var c client
	flag.StringVar(&c.gateway, "gateway", "http://127.0.0.1:8080", "URL of the gateway")
	flag.StringVar(&c.admin, "admin", "http://127.0.0.1:9901", "URL of Cardea's admin API")
	flag.Parse()
	if err := c.run(); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// run holds four conversations at a time, two with each of two assistants. Those with one assistant begin alike.
func (c *client) run() error {
	if err := c.wait(); err != nil {
		return err
	}
	assistants := []string{"cook", "lawyer"}
	talks := map[string][]message{}
	for _, of := range assistants {
		for _, guest := range []string{"ann", "bob"} {
			rules := strings.Repeat(fmt.Sprintf("You are a %s, and speak as a %s does. ", of, of), 12)
			talks[guest+" to the "+of] = []message{{"system", rules}}
		}
	}
	for turn := 1; turn <= 3; turn++ {
		for _, guest := range []string{"ann", "bob"} {
			for _, of := range assistants {
				who := guest + " to the " + of
				ask := fmt.Sprintf("I am %s, and this is my question number %d: what would a %s do?", guest, turn, of)
				talk, err := c.turn(who, turn, append(talks[who], message{"user", ask}))
				if err != nil {
					return fmt.Errorf("%s: %w", who, err)
				}
				talks[who] = talk
			}
		}
	}
	fmt.Printf("%d requests had prompts of %d tokens; the servers had %d of them cached: %d%%\n", c.requests, c.tokens,
		c.cached, 100*c.cached/c.tokens)
	return nil
}

// wait waits until the gateway asks its picker: before that, the proxy chooses servers by itself.
func (c *client) wait() error {
	for end := time.Now().Add(waitTimeout); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if _, _, err := send(http.MethodGet, c.gateway+"/v1/models", host, nil); err != nil {
			continue
		}
		text, _, err := send(http.MethodGet, c.admin+"/pickers/"+pool+"/metrics", "", nil)
		if err == nil && bytes.Contains(text, []byte("cardea_picker_picks_total{")) {
			return nil
		}
	}
	return fmt.Errorf("no picker of the pool %s is asked after %v", pool, waitTimeout)
}

// turn sends a conversation, prints what became of it, and returns it with the answer.
func (c *client) turn(who string, turn int, talk []message) ([]message, error) {
	body, err := json.Marshal(map[string]any{"model": "simulated", "messages": talk})
	if err != nil {
		return nil, err
	}
	scores, err := c.scores(body)
	if err != nil {
		return nil, err
	}
	text, header, err := send(http.MethodPost, c.gateway+path, host, body)
	if err != nil {
		return nil, err
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil || len(a.Choices) == 0 {
		return nil, fmt.Errorf("%s is no answer of a model (%v)", text, err)
	}
	c.requests++
	c.tokens += a.Usage.Prompt
	c.cached += a.Usage.Details.Cached
	server := header.Get("X-Model-Server")
	fmt.Printf("%-17s %d: %s had %d of %d tokens cached; %s\n", who, turn, server, a.Usage.Details.Cached, a.Usage.Prompt,
		scores[server])
	return append(talk, a.Choices[0].Message), nil
}

// scores asks Cardea what the picker thinks of each server now, if it gets this request.
func (c *client) scores(body []byte) (map[string]string, error) {
	about := url.QueryEscape("http://" + host + ":8080" + path)
	text, _, err := send(http.MethodPost, c.admin+"/explain?method=POST&url="+about, "", body)
	if err != nil {
		return nil, err
	}
	var s story
	if err := json.Unmarshal(text, &s); err != nil || len(s.Outcomes) == 0 || len(s.Outcomes[0].Pick.Servers) == 0 {
		return nil, fmt.Errorf("%s tells of no picker (%v)", text, err)
	}
	scores := map[string]string{}
	for _, server := range s.Outcomes[0].Pick.Servers {
		parts := []string{fmt.Sprintf("total %.3g", server.Total)}
		for _, by := range server.Scores {
			parts = append(parts, fmt.Sprintf("%s %.2g", by.Name, by.Value))
		}
		scores[server.Endpoint] = strings.Join(parts, ", ")
	}
	return scores, nil
}

// send sends a request to a host; "" is the URL's. An answer that is not 200 is an error.
func send(method, url, host string, body []byte) ([]byte, http.Header, error) {
	request, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Host = cmp.Or(host, request.Host)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, response.Status, text)
	}
	return text, response.Header, err
}
