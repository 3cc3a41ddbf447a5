package servers

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"

	"cardea.dev/cardea/internal/picker/score"
)

// largestPage bounds a page of metrics, in bytes.
const largestPage = 8 << 20

// client keeps one connection to each server.
func client(cfg Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1, IdleConnTimeout: max(10*time.Second, 3*cfg.Interval),
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// fetch asks servers over HTTP.
func (s *Scraper) fetch(c *http.Client) func(ctx context.Context, endpoint string) (score.State, error) {
	return func(ctx context.Context, endpoint string) (score.State, error) {
		url := s.cfg.Scheme + "://" + s.cfg.at(endpoint) + s.cfg.Path
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return score.State{}, err
		}
		r.Header.Set("Accept", "text/plain;version=0.0.4")
		answer, err := c.Do(r)
		if err != nil {
			return score.State{}, err
		}
		defer answer.Body.Close()
		switch answer.StatusCode {
		case http.StatusOK:
		case http.StatusNotFound:
			return score.State{}, fmt.Errorf("GET %s: %s: %w", url, answer.Status, errNothing)
		default:
			return score.State{}, fmt.Errorf("GET %s: %s", url, answer.Status)
		}
		return s.reader.read(io.LimitReader(answer.Body, largestPage))
	}
}
