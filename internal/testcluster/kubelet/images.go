package kubelet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Program stands for an image: what the container sees of it, and what it runs unless the container says otherwise.
type Program struct {
	Files      map[string]string // path in the container -> file or folder outside
	Entrypoint []string          // as in an image: a container's command takes its place
	Cmd        []string          // as in an image: a container's args, or its command, take its place
	Env        []string          // NAME=value
	Dir        string            // working folder
	User       uint32            // who runs it, unless a security context says
	Group      uint32
}

// image finds the program that stands for an image: by its whole name, or else by its name without tag and digest, or
// without the registry, too: nothing is pulled from there.
func (k *Kubelet) image(name string) (Program, error) {
	if p, ok := k.Images[name]; ok {
		return p, nil
	}
	bare, _, _ := strings.Cut(name, "@")
	if colon := strings.LastIndex(bare, ":"); colon > strings.LastIndex(bare, "/") {
		bare = bare[:colon]
	}
	if p, ok := k.Images[bare]; ok {
		return p, nil
	}
	if registry, rest, ok := strings.Cut(bare, "/"); ok && strings.ContainsAny(registry, ".:") {
		if p, ok := k.Images[rest]; ok {
			return p, nil
		}
	}
	return Program{}, &reasonError{
		"ErrImagePull", fmt.Sprintf("no program stands for the image %s; known are: %s", name,
			strings.Join(slices.Sorted(maps.Keys(k.Images)), ", ")),
	}
}

// argv is the command line of a container, before its variables are expanded.
func (p Program) argv(c *corev1.Container) []string {
	switch {
	case len(c.Command) > 0:
		return slices.Concat(c.Command, c.Args)
	case len(c.Args) > 0:
		return slices.Concat(p.Entrypoint, c.Args)
	}
	return slices.Concat(p.Entrypoint, p.Cmd)
}

// reasonError is an error with the one word that a container's status has for it.
type reasonError struct{ reason, message string }

func (e *reasonError) Error() string { return e.message }
