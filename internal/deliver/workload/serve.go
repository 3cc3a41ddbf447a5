package workload

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/spiffe/go-spiffe/v2/proto/spiffe/workload"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// retryDelay is how soon a certificate is tried again that could not be made.
const retryDelay = time.Second

// service answers on one socket. Tokens (JWT SVIDs) are not given: those methods are Unimplemented.
type service struct {
	workload.UnimplementedSpiffeWorkloadAPIServer
	cfg *Config
	id  *url.URL
}

// FetchX509SVID sends a certificate, and another one after half of its life or when the bundle changes.
func (s *service) FetchX509SVID(
	_ *workload.X509SVIDRequest, stream grpc.ServerStreamingServer[workload.X509SVIDResponse],
) error {
	return s.followBundle(stream.Context(), func(bundle []byte) (time.Duration, error) {
		now := s.cfg.Clock.Now()
		answer, renewAt, err := makeSVID(s.cfg.Authority, s.id, bundle, now)
		if err != nil {
			s.cfg.Log.Warn("a certificate could not be made; retrying", "identity", s.id.String(), "error", err)
			return retryDelay, nil
		}
		return renewAt.Sub(now), stream.Send(answer)
	})
}

// FetchX509Bundles sends who is trusted in the identity's trust domain, each time when that changes.
func (s *service) FetchX509Bundles(
	_ *workload.X509BundlesRequest, stream grpc.ServerStreamingServer[workload.X509BundlesResponse],
) error {
	domain := (&url.URL{Scheme: s.id.Scheme, Host: s.id.Host}).String()
	return s.followBundle(stream.Context(), func(bundle []byte) (time.Duration, error) {
		return time.Hour, stream.Send(&workload.X509BundlesResponse{Bundles: map[string][]byte{domain: derBytes(bundle)}})
	})
}

// followBundle sends, and sends again when the bundle changes or the time is over that send says, until the stream
// ends.
func (s *service) followBundle(ctx context.Context, send func(bundle []byte) (next time.Duration, err error)) error {
	if err := checkHeader(ctx); err != nil {
		return err
	}
	select {
	case <-s.cfg.Authority.WhenLoaded():
	case <-ctx.Done():
		return nil
	}
	for {
		bundle, changed := s.cfg.Authority.Bundle()
		next, err := send(bundle)
		if err != nil {
			return err
		}
		timer := s.cfg.Clock.NewTimer(next)
		select {
		case <-changed:
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}

// checkHeader refuses calls without the header that SPIFFE demands, so that no forged request of a browser is answered
// (SPIFFE Workload Endpoint, section 3).
func checkHeader(ctx context.Context) error {
	headers, _ := metadata.FromIncomingContext(ctx)
	if !slices.Equal(headers.Get("workload.spiffe.io"), []string{"true"}) {
		return status.Error(codes.InvalidArgument, "the header workload.spiffe.io: true is missing")
	}
	return nil
}
