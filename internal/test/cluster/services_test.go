package cluster_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestUDP sends a packet to a Service's address, and gets it back.
func TestUDP(t *testing.T) {
	p := newPlace(t)
	p.pod("udp", "", echo, func(object *corev1.Pod) {
		c := &object.Spec.Containers[0]
		c.Env = append(c.Env, corev1.EnvVar{Name: "UDP_ECHO_SERVER", Value: "1"})
	})
	service := p.service("udp", corev1.ServiceTypeClusterIP,
		corev1.ServicePort{Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(8080)})
	p.eventually(func() error {
		conn, err := net.Dial("udp", service.Spec.ClusterIP+":53")
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
			return err
		}
		if _, err := conn.Write([]byte("hello")); err != nil {
			return err
		}
		answer := make([]byte, 1000)
		n, err := conn.Read(answer)
		if err == nil && !strings.Contains(string(answer[:n]), "hello") {
			err = fmt.Errorf("%q", answer[:n])
		}
		return err
	})
}

// TestChosenAddress has Services ask for an address: one that can be had, and one that can't.
func TestChosenAddress(t *testing.T) {
	p := newPlace(t)
	p.pod("chosen", "", echo)
	make := func(name, address string) {
		_, err := p.Client.CoreV1().Services(p.namespace).Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, LoadBalancerIP: address, Selector: map[string]string{"app": "chosen"},
				Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(3000)}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	usable := "10.97.200.1" // in cluster.LoadBalancerRange
	make("usable", usable)
	make("unusable", "192.0.2.1")
	p.answers(usable, "chosen")
	service, err := p.Client.CoreV1().Services(p.namespace).Get(t.Context(), "unusable", metav1.GetOptions{})
	if err != nil || len(service.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("%+v %v", service.Status, err)
	}
}

// TestEndpoints moves a Service from one pod to the next: new connections go to the new one, old ones stay, and with
// none left they are refused.
func TestEndpoints(t *testing.T) {
	p := newPlace(t)
	tcp := func(object *corev1.Pod) {
		object.Labels = map[string]string{"app": "moving", "pod": object.Name}
		c := &object.Spec.Containers[0]
		c.Env = append(c.Env, corev1.EnvVar{Name: "TCP_ECHO_SERVER", Value: "1"})
	}
	p.pod("first", "", echo, tcp)
	service := p.service("moving", corev1.ServiceTypeClusterIP,
		corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt32(3000)})
	address := service.Spec.ClusterIP + ":80"
	old := p.speak(address, "first")

	p.pod("second", "", echo, tcp)
	p.until("second", ready)
	// The first one is no endpoint any more, but goes on.
	p.relabel("first", "away")
	p.speak(address, "second").Close()
	if text, err := say(old); err != nil || !strings.Contains(text, "first") {
		t.Errorf("the old connection says %q %v", text, err)
	}
	old.Close()

	p.relabel("second", "away")
	p.eventually(func() error {
		conn, err := net.Dial("tcp", address)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return nil
		}
		if err == nil {
			conn.Close()
		}
		return fmt.Errorf("not refused: %w", err)
	})
}

func (p *place) relabel(name, app string) {
	p.t.Helper()
	object, err := p.Client.CoreV1().Pods(p.namespace).Get(p.t.Context(), name, metav1.GetOptions{})
	if err == nil {
		object.Labels["app"] = app
		_, err = p.Client.CoreV1().Pods(p.namespace).Update(p.t.Context(), object, metav1.UpdateOptions{})
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// speak opens connections until one is answered by the pod that is wanted, and returns that one.
func (p *place) speak(address, pod string) net.Conn {
	p.t.Helper()
	var conn net.Conn
	p.eventually(func() (err error) {
		if conn, err = net.Dial("tcp", address); err != nil {
			return err
		}
		text, err := say(conn)
		if err == nil && !strings.Contains(text, pod) {
			err = errors.New(text)
		}
		if err != nil {
			conn.Close()
		}
		return err
	})
	return conn
}

// say asks the echo server who it is.
func say(conn net.Conn) (string, error) {
	if err := conn.SetDeadline(time.Now().Add(waitTimeout)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, "TEST\n"); err != nil {
		return "", err
	}
	answers := bufio.NewReader(conn)
	for {
		// A welcome may come first.
		if line, err := answers.ReadString('\n'); err != nil || strings.Contains(line, "pod") {
			return line, err
		}
	}
}

// TestNames asks for the names of Services, of a headless one too.
func TestNames(t *testing.T) {
	p := newPlace(t)
	_, err := p.Client.CoreV1().Services(p.namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "headless"},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"app": "member"},
			Ports: []corev1.ServicePort{{Port: 80}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	object := p.pod("member", "echo here"+forever)
	object = p.until(object.Name, ready)
	p.eventually(func() error {
		found, err := net.LookupHost("headless." + p.namespace + ".svc.cluster.local")
		if err == nil && (len(found) != 1 || found[0] != object.Status.PodIP) {
			err = fmt.Errorf("%v", found)
		}
		return err
	})
	missing := (*net.DNSError)(nil)
	if _, err := net.LookupHost("nobody." + p.namespace + ".svc.cluster.local"); !errors.As(err, &missing) ||
		!missing.IsNotFound {
		t.Errorf("an unknown name: %v", err)
	}
	// A pod asks by the short name.
	p.pod("asker", "getent hosts headless"+forever)
	p.prints("asker", object.Status.PodIP)
}
