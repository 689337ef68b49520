// A QUIC server that sends as many bytes as its client asks for, and the client, with quic-go.
//
// A client writes the number of bytes as eight bytes into a stream, and the server answers with so many zeros.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"os"
	"strconv"
	"time"

	"github.com/quic-go/quic-go"
)

var protocols = []string{"transfer"}

// farewell is the time for the client's last packet, which closes the connection.
const farewell = time.Millisecond

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(words []string) error {
	switch {
	case len(words) == 2 && words[0] == "serve":
		return serve(words[1])
	case len(words) == 3 && words[0] == "fetch":
		bytes, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil {
			return err
		}
		return fetch(words[1], bytes)
	}
	return fmt.Errorf("write: quic-go-transfer serve ADDRESS:PORT, or: quic-go-transfer fetch ADDRESS:PORT BYTES")
}

// serve answers all clients.
func serve(address string) error {
	certificate, err := certificate()
	if err != nil {
		return err
	}
	settings := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: protocols}
	listener, err := quic.ListenAddr(address, settings, nil)
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		go func() {
			if err := answer(connection); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}()
	}
}

func answer(connection *quic.Conn) error {
	stream, err := connection.AcceptStream(context.Background())
	if err != nil {
		return err
	}
	var asked [8]byte
	if _, err := io.ReadFull(stream, asked[:]); err != nil {
		return err
	}
	if _, err := io.CopyN(stream, zeros{}, int64(binary.BigEndian.Uint64(asked[:]))); err != nil {
		return err
	}
	return stream.Close()
}

func fetch(address string, bytes int64) error {
	settings := &tls.Config{InsecureSkipVerify: true, NextProtos: protocols}
	connection, err := quic.DialAddr(context.Background(), address, settings, nil)
	if err != nil {
		return err
	}
	stream, err := connection.OpenStreamSync(context.Background())
	if err != nil {
		return err
	}
	var asked [8]byte
	binary.BigEndian.PutUint64(asked[:], uint64(bytes))
	if _, err := stream.Write(asked[:]); err != nil {
		return err
	}
	got, err := io.Copy(io.Discard, stream)
	if err != nil {
		return err
	}
	if err := connection.CloseWithError(0, ""); err != nil {
		return err
	}
	time.Sleep(farewell)
	if got != bytes {
		return fmt.Errorf("got %d of %d bytes", got, bytes)
	}
	fmt.Println("got", got, "bytes")
	return nil
}

// certificate makes one that is valid on the date of a guest.
func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

type zeros struct{}

func (zeros) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}
