package kubelet

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// token is a service account's token that a volume shows.
type token struct {
	text    string
	renewAt time.Time
}

// tokenContent is a token of the pod's service account, bound to the pod. It is renewed after four fifths of its life.
func (p *pod) tokenContent(
	ctx context.Context, v *volume, s *corev1.ServiceAccountTokenProjection, mode *int32,
) (content, error) {
	t := v.tokens[s.Path]
	if t == nil || !time.Now().Before(t.renewAt) {
		var err error
		if t, err = p.requestToken(ctx, s); err != nil {
			return nil, fmt.Errorf("service account token: %w", err)
		}
		v.tokens[s.Path] = t
	}
	if v.refresh.IsZero() || t.renewAt.Before(v.refresh) {
		v.refresh = t.renewAt
	}
	f := p.secretFile(t.text, mode)
	return content{s.Path: f}, nil
}

// secretFile is a file that only the pod may read. As in a kubelet: if it is known who reads it, nobody else does.
func (p *pod) secretFile(data string, mode *int32) file {
	f := file{data, fileMode(mode, nil), -1}
	if user, ok := p.soleUser(); ok {
		f.mode, f.user = 0o600, user
	} else if p.fsGroup() >= 0 {
		f.mode = 0o600
	}
	return f
}

func (p *pod) requestToken(ctx context.Context, s *corev1.ServiceAccountTokenProjection) (*token, error) {
	object := p.latest()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: s.ExpirationSeconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: object.Name,
			UID: object.UID},
	}}
	if s.Audience != "" {
		request.Spec.Audiences = []string{s.Audience}
	}
	asked := time.Now()
	given, err := p.kubelet.Client.CoreV1().ServiceAccounts(object.Namespace).
		CreateToken(ctx, p.spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	life := given.Status.ExpirationTimestamp.Sub(asked)
	return &token{given.Status.Token, asked.Add(life * 4 / 5)}, nil
}

// soleUser is the user of all containers, if the pod says so.
func (p *pod) soleUser() (int, bool) {
	user := int64(-1)
	for _, m := range p.members() {
		of := (*int64)(nil)
		if s := p.spec.SecurityContext; s != nil {
			of = s.RunAsUser
		}
		if s := m.spec.SecurityContext; s != nil && s.RunAsUser != nil {
			of = s.RunAsUser
		}
		if of == nil || user >= 0 && *of != user {
			return 0, false
		}
		user = *of
	}
	return int(user), true
}
