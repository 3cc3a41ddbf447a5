package kubelet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Program is what is used for an image: its files, and the command that it runs unless the container has another.
type Program struct {
	Files      map[string]string // path in the container -> file or folder outside
	Entrypoint []string          // as in an image; replaced by a container's command
	Cmd        []string          // as in an image; replaced by a container's args or command
	Env        []string          // NAME=value
	Dir        string            // working folder
	User       uint32            // the user, unless a security context sets one
	Group      uint32
}

// image finds the program for an image: by its complete name, else by its name without tag and digest, else also
// without the registry, since images are not pulled.
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
		"ErrImagePull", fmt.Sprintf("no program is known for the image %s; the known images are: %s", name,
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
