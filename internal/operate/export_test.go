package operate

// FailuresUpTo is FailuresOf with another bound.
var FailuresUpTo = failuresOf
