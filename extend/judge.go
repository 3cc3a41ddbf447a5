package extend

import "cardea.dev/cardea/internal/request"

// Request is a request as it gets to a feature: with what features before it changed.
type Request = request.Request

// Verdict is what a proxy does with a request because of a feature. The zero Verdict: it lets it pass.
type Verdict struct {
	Status int // that answers it; 0: it passes
	// If is what decides that can't be told, "the token is accepted by corp": if so the request passes, else it gets
	// Status.
	If string
}
