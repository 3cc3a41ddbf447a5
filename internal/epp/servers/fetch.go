package servers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"cardea.dev/cardea/internal/epp/score"
)

// largestPage bounds a page of metrics, in bytes.
const largestPage = 8 << 20

const mostRedirects = 3

// client keeps one connection to each server.
func client(cfg Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1, IdleConnTimeout: max(10*time.Second, 3*cfg.Interval),
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		},
		CheckRedirect: onItsHost,
	}
}

// onItsHost follows a redirect within a server, such as the one to /metrics/. Others would lead questions and the token
// to whomever a server names.
func onItsHost(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	if next.URL.Scheme != first.Scheme || next.URL.Host != first.Host || len(before) > mostRedirects {
		return http.ErrUseLastResponse
	}
	return nil
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
		if token := s.token.get(); token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := c.Do(r)
		if err != nil {
			return score.State{}, err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return score.State{}, s.refused(answer)
		}
		return s.reader.read(io.LimitReader(answer.Body, largestPage))
	}
}

// refused says why an answer has no metrics. A server that answers serves, unless it says that it can't: it may have no
// metrics, or none for this client.
func (s *Scraper) refused(answer *http.Response) error {
	why := fmt.Sprintf("GET %s: %s", answer.Request.URL, answer.Status)
	switch status := answer.StatusCode; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		if err := s.token.read(); err != nil { // it may have been changed
			why += "; " + err.Error()
		}
		return silence(why + "; give the servers' token: --metrics-token-file, or the annotation " +
			"inference.cardea.dev/metrics-token of the pool")
	case status < 300:
		return silence(why + "; it has no page of metrics there")
	case status < 400:
		return silence(why + s.cfg.ledAway(answer))
	case status < 500, status == http.StatusNotImplemented:
		return silence(why)
	}
	return errors.New(why)
}

// ledAway says why a redirect was not followed.
func (c Config) ledAway(answer *http.Response) string {
	asked := answer.Request.URL
	if to, err := answer.Location(); err == nil {
		if to.Scheme != asked.Scheme || to.Host != asked.Host {
			return fmt.Sprintf("; it redirects to %s, and only redirects on its own host are followed: its metrics have to be "+
				"at %s, or where --metrics-path of a picker says", to.Redacted(), c.Path)
		}
		return fmt.Sprintf("; it redirects more than %d times: its metrics have to be at %s, or where --metrics-path of a "+
			"picker says", mostRedirects, c.Path)
	}
	return ""
}
