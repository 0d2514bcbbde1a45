// Package crypt encrypts payloads before a world keeps them, and decrypts what it gives back. A world that is wrapped looks to everybody above as it did
// before, and to everybody below as if payloads were short texts without a meaning.
//
// A run has one key for all its life: the keyring's first at its birth. What its payloads are encrypted with is derived from that key and the run's ID
// (HKDF-SHA256); the cipher is AES-256-GCM with random nonces, so that a copied database can go on in two places. What a payload is, and of which
// entity, is authenticated with it: see envelope.go.
package crypt
