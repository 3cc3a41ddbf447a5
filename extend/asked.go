package extend

// Where filters say who may refuse a request next for want of credentials. The connection manager answers accordingly:
// in a 401 of a method it writes the challenge, and it makes a 401 of the 403 by which AskedByAnyone refuses.
const (
	AskedMetadata  = "cardea.dev/authentication"
	AskedBy        = "by"
	AskedChallenge = "challenge" // the header WWW-Authenticate
	AskedByMethods = "methods"
	AskedByAnyone  = "anyone" // it refuses what no method accepted
	AskedByNobody  = "nobody"
)
