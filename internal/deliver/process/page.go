package process

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// FetchPage asks a child's admin interface for a page. A status other than 200 is an error.
func FetchPage(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("admin interface: %s", response.Status)
	}
	return io.ReadAll(response.Body)
}
