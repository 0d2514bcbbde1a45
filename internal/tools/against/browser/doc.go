// Package browser has the tests of the pages in a real browser.
package browser
