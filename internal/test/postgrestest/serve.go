package postgrestest

import (
	"errors"
)

// Serve starts a server for a program that is no test, which ends it with Close.
func Serve() (*Server, error) {
	programs := findPrograms()
	if programs == "" {
		return nil, errors.New("there is no PostgreSQL 15 or newer: `make postgres` gets one")
	}
	return startServer(programs)
}

// Close ends the server, and removes what it kept.
func (s *Server) Close() error { return s.stopAndRemove() }

// CreateDatabase makes a database, and answers its URL.
func (s *Server) CreateDatabase(name string) (url string, err error) {
	return s.URL(name), s.execStatement("CREATE DATABASE " + name)
}
