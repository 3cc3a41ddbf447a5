package services

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	zone = ".svc.cluster.local."
	// outside is a zone beside the cluster's, for what clients take for names of the world: SERVICE.NAMESPACE.outside.test
	// is the same as SERVICE.NAMESPACE.svc.cluster.local.
	outside  = ".outside.test."
	lifetime = 1   // seconds that an answer may be kept
	mostUDP  = 512 // bytes of an answer; a longer one is asked for again over TCP
	timeout  = 10 * time.Second
)

// serveDNS answers names of Services until what it returns is called.
func (s *Services) serveDNS() (stop func(), err error) {
	address := netip.AddrPortFrom(s.DNS, 53)
	packets, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(address))
	if err != nil {
		return nil, err
	}
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(address))
	if err != nil {
		packets.Close()
		return nil, err
	}
	go s.answerPackets(packets)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.answerStream(conn)
		}
	}()
	return func() {
		packets.Close()
		listener.Close()
	}, nil
}

func (s *Services) answerPackets(conn *net.UDPConn) {
	packet := make([]byte, 64<<10)
	for {
		n, client, err := conn.ReadFromUDPAddrPort(packet)
		if err != nil {
			return
		}
		if answer := s.answer(packet[:n], mostUDP); answer != nil {
			_, _ = conn.WriteToUDPAddrPort(answer, client) // a packet may be lost
		}
	}
}

// answerStream answers over TCP, where each message has its length in front.
func (s *Services) answerStream(conn net.Conn) {
	defer conn.Close()
	for {
		if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
			return
		}
		var size uint16
		if err := binary.Read(conn, binary.BigEndian, &size); err != nil {
			return
		}
		query := make([]byte, size)
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		answer := s.answer(query, 1<<16-1)
		if answer == nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// answer is the answer to a message, or nil to one that is no question. One longer than most is cut, and says so.
func (s *Services) answer(query []byte, most int) []byte {
	var parser dnsmessage.Parser
	header, err := parser.Start(query)
	if err != nil || header.Response {
		return nil
	}
	question, err := parser.Question()
	if err != nil {
		return nil
	}
	addresses, alias, known := s.lookUp(question.Name.String())
	reply := dnsmessage.Message{
		Header: dnsmessage.Header{
			ID: header.ID, Response: true, Authoritative: true, RecursionDesired: header.RecursionDesired,
			RecursionAvailable: true,
		},
		Questions: []dnsmessage.Question{question},
	}
	if !known {
		reply.RCode = dnsmessage.RCodeNameError
	}
	record := dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: lifetime}
	if name, err := dnsmessage.NewName(alias); alias != "" && err == nil {
		reply.Answers = append(reply.Answers,
			dnsmessage.Resource{Header: record, Body: &dnsmessage.CNAMEResource{CNAME: name}})
	}
	if question.Type == dnsmessage.TypeA {
		for _, a := range addresses {
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: record, Body: &dnsmessage.AResource{A: a.As4()}})
		}
	}
	packed, err := reply.Pack()
	if err != nil {
		return nil
	}
	if len(packed) > most {
		reply.Truncated, reply.Answers = true, nil
		if packed, err = reply.Pack(); err != nil {
			return nil
		}
	}
	return packed
}

// lookUp is what a name means: SERVICE.NAMESPACE.svc.cluster.local is the ClusterIP, the endpoints of a headless
// Service, or the name that an ExternalName Service stands for.
func (s *Services) lookUp(name string) (addresses []netip.Addr, alias string, known bool) {
	name = strings.ToLower(name)
	rest, ours := strings.CutSuffix(name, zone)
	if !ours {
		rest, ours = strings.CutSuffix(name, outside)
	}
	service, namespace, two := strings.Cut(rest, ".")
	if !ours || !two {
		return nil, "", false
	}
	object := s.services.Get(namespace, service)
	switch {
	case object == nil:
		return nil, "", false
	case object.Spec.Type == corev1.ServiceTypeExternalName:
		return nil, strings.TrimSuffix(object.Spec.ExternalName, ".") + ".", true
	case object.Spec.ClusterIP != corev1.ClusterIPNone:
		if address, err := netip.ParseAddr(object.Spec.ClusterIP); err == nil {
			addresses = append(addresses, address)
		}
		return addresses, "", true
	}
	for _, slice := range s.slicesOf(types.NamespacedName{Namespace: namespace, Name: service}) {
		for _, e := range slice.Endpoints {
			for _, text := range e.Addresses {
				if address, err := netip.ParseAddr(text); err == nil && address.Is4() && value(e.Conditions.Ready, true) {
					addresses = append(addresses, address)
				}
			}
		}
	}
	return addresses, "", true
}
