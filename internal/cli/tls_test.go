package cli

// The server with TLS, and health that asks it.

import (
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/server"
)

// pair writes the certificate of the standard library's test servers, which is for 127.0.0.1, and its key.
func pair(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	cert := s.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key")
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert.Certificate[0]}, keyFile: {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// TestServerTLS: the command serves over TLS, and health in the same environment asks over it, of that certificate alone.
func TestServerTLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile := pair(t)
	db := filepath.Join(t.TempDir(), "app.db")
	addr := served(t, map[string]string{"STEPWELL_TLS_CERT": certFile, "STEPWELL_TLS_KEY": keyFile}, "--db", db)
	ask := func(env map[string]string, args ...string) (int, string) {
		code, out, errs := call{env: env}.do(t.Context(), append([]string{"health"}, args...)...)
		return code, out + errs
	}
	if code, said := ask(map[string]string{"STEPWELL_LISTEN": addr, "STEPWELL_TLS_CERT": certFile}); code != exitOK {
		t.Errorf("got %d, %s, want it well", code, said)
	}
	if code, said := ask(map[string]string{"STEPWELL_LISTEN": addr}); code != exitFailure {
		t.Errorf("without TLS: got %d, %s, want %d", code, said, exitFailure)
	}
	if code, said := ask(nil, "https://"+addr); code != exitFailure || !strings.Contains(said, "certificate") {
		t.Errorf("of an authority that nobody knows: got %d, %s, want %d", code, said, exitFailure)
	}
	if code, said := ask(nil, "https://"+addr, "--ca", certFile); code != exitOK {
		t.Errorf("of an authority that is named: got %d, %s, want it well", code, said)
	}
	if code, said := ask(nil, "https://"+addr, "--ca", keyFile); code != exitUsage || !strings.Contains(said, "--ca") {
		t.Errorf("a key as an authority: got %d, %s, want %d", code, said, exitUsage)
	}
	other := selfMade(t)
	if code, said := ask(map[string]string{"STEPWELL_LISTEN": addr, "STEPWELL_TLS_CERT": other}); code != exitFailure || !strings.Contains(said, "does not have the certificate") {
		t.Errorf("another's certificate: got %d, %s, want %d", code, said, exitFailure)
	}
	for _, env := range []map[string]string{
		{"STEPWELL_LISTEN": "7373"}, {"STEPWELL_TLS_CERT": filepath.Join(t.TempDir(), "none")}, {"STEPWELL_TLS_CERT": keyFile},
	} {
		if code, said := ask(env); code != exitUsage {
			t.Errorf("%v: got %d, %s, want %d", env, code, said, exitUsage)
		}
	}
	for _, args := range [][]string{{"--tls-cert", certFile}, {"--tls-key", keyFile}, {"--tls-cert", keyFile, "--tls-key", keyFile}} {
		code, _, errs := call{}.do(t.Context(), append([]string{"server", "--db", db}, args...)...)
		if code != exitUsage || !strings.Contains(errs, "--tls-key") {
			t.Errorf("%v: got %d, %q, want it refused by name", args, code, errs)
		}
	}
}

// TestServerRisks: what is dangerous about an address is said at the start.
func TestServerRisks(t *testing.T) {
	t.Parallel()
	keys := server.Options{Keys: []server.Key{{}}}
	for _, c := range []struct {
		ip   string
		cfg  serverConfig
		want string // words of the risks
	}{
		{"127.0.0.1", serverConfig{options: keys}, ""},
		{"::1", serverConfig{}, ""},
		{"0.0.0.0", serverConfig{options: keys}, "no TLS"},
		{"192.0.2.7", serverConfig{options: keys, serving: server.Serving{Certificate: &server.Certificate{}}}, ""},
		{"::", serverConfig{options: server.Options{Insecure: true}}, "no API keys,no TLS"},
	} {
		var got []string
		for _, risk := range c.cfg.risks(&net.TCPAddr{IP: net.ParseIP(c.ip)}) {
			got = append(got, strings.Join(strings.Fields(strings.TrimSuffix(risk, ":"))[:2], " "))
		}
		for i, word := range strings.FieldsFunc(c.want, func(r rune) bool { return r == ',' }) {
			if i >= len(got) || !strings.HasPrefix(word, got[i]) {
				t.Errorf("%s: got %q, want %q", c.ip, got, c.want)
			}
		}
		if c.want == "" && len(got) > 0 {
			t.Errorf("%s: got %q, want none", c.ip, got)
		}
	}
}

// selfMade is a file with a certificate that nobody has.
func selfMade(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "other.crt")
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("other")}), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
