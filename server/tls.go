package server

// This file has the certificate of a server that speaks TLS itself, read anew when its files change.

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Certificate is a TLS certificate in two files, which may be renewed while the server runs. It is
// safe for concurrent use.
type Certificate struct {
	certFile, keyFile string
	log               *slog.Logger
	now               func() time.Time

	mu     sync.Mutex
	have   *tls.Certificate // guarded by mu
	stamp  [2]fileStamp     // of the files as they were when they were last read; guarded by mu
	looked time.Time        // when the files were last looked at; guarded by mu
}

// fileStamp tells a file from the one that takes its place.
type fileStamp struct {
	size    int64
	changed time.Time
}

// ReadCertificate reads a certificate chain and its private key, both PEM. When the files change,
// new connections use the new certificate, at latest a second later. If the new files are unusable,
// the old certificate stays. log gets renewals and failures; it may be nil.
func ReadCertificate(certFile, keyFile string, log *slog.Logger) (*Certificate, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Certificate{certFile: certFile, keyFile: keyFile, log: log, now: time.Now}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looked = c.now()
	return c, c.read(c.stamps())
}

// Reload reads the files again, even if they have not changed. On an error the old certificate
// stays.
func (c *Certificate) Reload() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looked = c.now()
	return c.renew(c.stamps())
}

// certificateGlance is the time between two looks at the files of a certificate.
const certificateGlance = time.Second

// get is what a connection that begins is given.
func (c *Certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.looked) >= certificateGlance {
		c.looked = now
		if is := c.stamps(); is != c.stamp {
			_ = c.renew(is) // it is logged, and the old one is better than none
		}
	}
	return c.have, nil
}

// renew reads the files again, and tells of it. It is called under mu.
func (c *Certificate) renew(is [2]fileStamp) error {
	if err := c.read(is); err != nil {
		c.log.Error("the TLS certificate could not be renewed; the old one stays", "err", err)
		return err
	}
	c.log.Info("the TLS certificate was read again", "until", c.have.Leaf.NotAfter.UTC())
	return nil
}

// read reads the files. It is called under mu.
func (c *Certificate) read(is [2]fileStamp) error {
	c.stamp = is // also where it fails, so that what is wrong is told once
	have, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("TLS certificate %s, key %s: %w", c.certFile, c.keyFile, err)
	}
	if have.Leaf == nil {
		if have.Leaf, err = x509.ParseCertificate(have.Certificate[0]); err != nil {
			return fmt.Errorf("TLS certificate %s: %w", c.certFile, err)
		}
	}
	c.have = &have
	return nil
}

func (c *Certificate) stamps() (is [2]fileStamp) {
	for i, name := range []string{c.certFile, c.keyFile} {
		if info, err := os.Stat(name); err == nil {
			is[i] = fileStamp{info.Size(), info.ModTime()}
		}
	}
	return is
}

// config is the TLS that is spoken: 1.3, and of 1.2 what has forward secrecy and is authenticated, which CBC is not.
func (c *Certificate) config() *tls.Config {
	return &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12, CipherSuites: []uint16{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	}}
}
