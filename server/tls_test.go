package server

// TLS: a server that speaks it, and a certificate that is renewed beneath it.

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
)

// selfSigned writes a certificate for 127.0.0.1 and its key, and returns it.
func selfSigned(t *testing.T, certFile, keyFile string, serial int64) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, is, is, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// TestTLS: the server answers over TLS, also HTTP/2, and to nobody without; it ends as any.
func TestTLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile := filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key")
	leaf := selfSigned(t, certFile, keyFile, 1)
	cert, err := ReadCertificate(certFile, keyFile, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := memory.New()
	defer func() { _ = w.Close() }()
	app, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(app, Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l, Serving{Certificate: cert}) }()
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get("https://" + l.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if got := resp.Header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
		t.Errorf("Strict-Transport-Security is %q", got)
	}
	for _, cbc := range []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA} {
		if _, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{cbc}}); err == nil {
			t.Errorf("%s was spoken", tls.CipherSuiteName(cbc))
		}
	}
	if resp.StatusCode != http.StatusOK || resp.ProtoMajor != 2 {
		t.Errorf("got %s %s, want 200 over HTTP/2", resp.Proto, resp.Status)
	}
	if resp, err := http.Get("http://" + l.Addr().String() + "/healthz"); err == nil {
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("without TLS: got %s, want it refused", resp.Status)
		}
	}
	if _, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 was spoken")
	}
	transport.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestCertificateIsRenewed: new files are read at most once a second; what is no certificate leaves the old one, and is told once.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	certFile, keyFile := filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key")
	selfSigned(t, certFile, keyFile, 1)
	var log bytes.Buffer
	c, err := ReadCertificate(certFile, keyFile, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Now()
	c.now = func() time.Time { return clock }
	serial := func() int64 {
		t.Helper()
		is, err := c.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return is.Leaf.SerialNumber.Int64()
	}
	renew := func(n int64) {
		t.Helper()
		selfSigned(t, certFile, keyFile, n)
		for _, name := range []string{certFile, keyFile} { // a file system may count time in whole seconds
			if err := os.Chtimes(name, clock, clock.Add(time.Duration(n)*time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
	}
	clock = clock.Add(certificateGlance)
	if got := serial(); got != 1 {
		t.Errorf("nothing changed: got certificate %d, want 1", got)
	}
	renew(2)
	if got := serial(); got != 1 {
		t.Errorf("at once: got certificate %d, want 1: the files are not looked at each time", got)
	}
	clock = clock.Add(certificateGlance)
	if got := serial(); got != 2 {
		t.Errorf("a second later: got certificate %d, want 2", got)
	}
	if err := os.WriteFile(keyFile, []byte("no key at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		clock = clock.Add(certificateGlance)
		if got := serial(); got != 2 {
			t.Errorf("no key: got certificate %d, want the old one", got)
		}
	}
	if n := strings.Count(log.String(), "could not be renewed"); n != 1 {
		t.Errorf("it was told %d times, want once: %s", n, &log)
	}
	if err := c.Reload(); err == nil || serial() != 2 {
		t.Errorf("reload: got %v, want an error, and the old certificate", err)
	}
	renew(3)
	if err := c.Reload(); err != nil || serial() != 3 {
		t.Errorf("reload: got %v and certificate %d, want 3", err, serial())
	}
	if _, err := ReadCertificate(certFile, certFile, nil); err == nil || !strings.Contains(err.Error(), certFile) {
		t.Errorf("a certificate as its key: got %v, want an error with the file's name", err)
	}
}
