package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// pollPause is the pause between two requests to a proxy.
const pollPause = time.Millisecond

// caller sends requests to a proxy in its pod, over one kept connection.
type caller struct {
	address string
	client  *http.Client
}

func newCaller(ip string) *caller {
	return &caller{
		address: net.JoinHostPort(ip, strconv.Itoa(port)),
		client:  &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}, Timeout: 10 * time.Second},
	}
}

// ask makes one request, without retries by the client, and returns the mark of the answer.
func ask(ctx context.Context, client *http.Client, address, host string) (mark string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/", nil)
	if err != nil {
		return "", err
	}
	request.Host = host
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("answered %s", response.Status)
	}
	return response.Header.Get(markHeader), nil
}

// sees sends requests until a route's answer has the mark, and returns when it had.
func (c *caller) sees(ctx context.Context, route, mark string) (at time.Time, err error) {
	tick := time.NewTicker(pollPause)
	defer tick.Stop()
	var saw string
	for end := time.Now().Add(stepTimeout); time.Now().Before(end) && ctx.Err() == nil; <-tick.C {
		if saw, err = ask(ctx, c.client, c.address, host(route)); err == nil && saw == mark {
			return time.Now(), nil
		}
	}
	return at, fmt.Errorf("the proxy does not serve %s: last %q, %w", mark, saw, err)
}
