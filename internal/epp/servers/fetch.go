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

// maxPageBytes bounds a page of metrics, in bytes.
const maxPageBytes = 8 << 20

const maxRedirects = 3

// newClient keeps one connection to each server.
func newClient(cfg Config) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1, IdleConnTimeout: max(10*time.Second, 3*cfg.Interval),
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		},
		CheckRedirect: checkRedirect,
	}
}

// checkRedirect follows a redirect within a server, such as the one to /metrics/. Others would lead questions and the
// token to whomever a server names.
func checkRedirect(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	if next.URL.Scheme != first.Scheme || next.URL.Host != first.Host || len(before) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// newFetcher asks servers over HTTP.
func (s *Scraper) newFetcher(c *http.Client) func(ctx context.Context, endpoint string) (score.State, error) {
	return func(ctx context.Context, endpoint string) (score.State, error) {
		url := s.cfg.Scheme + "://" + s.cfg.metricsAddress(endpoint) + s.cfg.Path
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
			return score.State{}, s.explainStatus(answer)
		}
		return s.reader.readPage(io.LimitReader(answer.Body, maxPageBytes))
	}
}

// explainStatus says why an answer has no metrics. A server that answers serves, unless it says that it can't: it may
// have no metrics, or none for this client.
func (s *Scraper) explainStatus(answer *http.Response) error {
	why := fmt.Sprintf("GET %s: %s", answer.Request.URL, answer.Status)
	switch status := answer.StatusCode; {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		if err := s.token.readFile(); err != nil { // it may have been changed
			why += "; " + err.Error()
		}
		return noMetricsError(why + "; give the servers' token: --metrics-token-file, or the annotation " +
			"inference.cardea.dev/metrics-token of the pool")
	case status < 300:
		return noMetricsError(why + "; it has no page of metrics there")
	case status < 400:
		return noMetricsError(why + s.cfg.explainRedirect(answer))
	case status < 500, status == http.StatusNotImplemented:
		return noMetricsError(why)
	}
	return errors.New(why)
}

// explainRedirect says why a redirect was not followed.
func (c Config) explainRedirect(answer *http.Response) string {
	asked := answer.Request.URL
	if to, err := answer.Location(); err == nil {
		if to.Scheme != asked.Scheme || to.Host != asked.Host {
			return fmt.Sprintf("; it redirects to %s, and only redirects to the same host are followed: serve the metrics at "+
				"%s, or at the path of the picker's flag --metrics-path", to.Redacted(), c.Path)
		}
		return fmt.Sprintf("; it redirects more than %d times: serve the metrics at %s, or at the path of the picker's "+
			"flag --metrics-path", maxRedirects, c.Path)
	}
	return ""
}
