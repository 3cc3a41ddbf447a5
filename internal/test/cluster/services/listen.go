package services

import (
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"
)

// listen opens a front.
func listen(f front) (rule, error) {
	switch f.protocol {
	case corev1.ProtocolTCP:
		listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(f.address))
		if err != nil {
			return nil, err
		}
		return newTCPRule(listener), nil
	case corev1.ProtocolUDP:
		conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(f.address))
		if err != nil {
			return nil, err
		}
		return newUDPRule(conn), nil
	}
	return nil, fmt.Errorf("%s is not forwarded", f.protocol)
}
