package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mounted adds a volume to a pod.
func mounted(at string, source corev1.VolumeSource) func(*corev1.Pod) {
	return func(object *corev1.Pod) {
		name := fmt.Sprint("volume-", len(object.Spec.Volumes))
		object.Spec.Volumes = append(object.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
		c := &object.Spec.Containers[0]
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: at})
	}
}

// TestRotation shows a Secret that comes after its pod, and changes.
func TestRotation(t *testing.T) {
	p := newPlace(t)
	p.pod("reader", "while sleep 0.05; do cat /etc/secret-volume/crt; done",
		mounted("/etc/secret-volume", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: "late", Items: []corev1.KeyToPath{{Key: "tls.crt", Path: "crt"}},
		}}))
	p.until("reader", func(object *corev1.Pod) bool {
		s := object.Status.ContainerStatuses
		return len(s) == 1 && s[0].State.Waiting != nil &&
			strings.Contains(s[0].State.Waiting.Message, `secret "late" not found`)
	})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "late"},
		StringData: map[string]string{"tls.crt": "old\n"}}
	secret, err := p.Client.CoreV1().Secrets(p.namespace).Create(t.Context(), secret, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.prints("reader", "old\n")
	secret.StringData = map[string]string{"tls.crt": "new\n"}
	if _, err := p.Client.CoreV1().Secrets(p.namespace).Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.prints("reader", "new\n")
	if log := p.prints("reader", "new"); strings.Contains(log, "No such file") {
		t.Error("the file was missing for a while")
	}
}

// TestToken gives a pod a token for an audience, which the API server confirms.
func TestToken(t *testing.T) {
	p := newPlace(t)
	seconds, group := int64(600), int64(2000)
	object := p.pod("caller", "cat /token/xds; echo; ls -lL /token; cat /token/ca.crt /token/labels"+forever,
		func(object *corev1.Pod) {
			object.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &group}
		},
		mounted("/token", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "xds.example", ExpirationSeconds: &seconds,
				Path: "xds"}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
			}}},
		}}}))
	token, rest, _ := strings.Cut(p.prints("caller", `app="caller"`), "\n")
	for _, want := range []string{"-rw-r----- 1 root 2000", "BEGIN CERTIFICATE"} {
		if !strings.Contains(rest, want) {
			t.Errorf("%q is missing in %s", want, rest)
		}
	}
	for audience, want := range map[string]bool{"xds.example": true, "other.example": false} {
		review, err := p.Client.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
			Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{audience}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if review.Status.Authenticated != want {
			t.Errorf("%s: %+v", audience, review.Status)
		}
		user := review.Status.User
		if want && (user.Username != "system:serviceaccount:"+p.namespace+":default" ||
			user.Extra["authentication.kubernetes.io/pod-uid"][0] != string(object.UID)) {
			t.Errorf("it is %+v", user)
		}
	}
}

// TestEmptyDir is written by a user who may write nowhere else.
func TestEmptyDir(t *testing.T) {
	p := newPlace(t)
	yes, user := true, int64(65532)
	p.pod("writer", "echo 1 >/etc/x; echo 2 >/work/x; cat /work/x; chown 0 /work/x"+forever,
		mounted("/work", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}),
		func(object *corev1.Pod) {
			object.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
				RunAsUser: &user, RunAsNonRoot: &yes, ReadOnlyRootFilesystem: &yes,
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}
		})
	log := p.prints("writer", "chown")
	for _, want := range []string{"/etc/x", "2\n", "Operation not permitted"} {
		if !strings.Contains(log, want) {
			t.Errorf("%q is missing in %s", want, log)
		}
	}
}
