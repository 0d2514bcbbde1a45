// Package apart keeps values that are too large for a log apart from it: it stands around a world, puts such values
// where the world keeps them before the commit that names them, and reads them where they are needed.
package apart
