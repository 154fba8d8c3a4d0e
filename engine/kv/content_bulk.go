package kv

// BulkContent is a Content that can identify many blocks in one call, which matters when blocks are as small as one
// token.
type BulkContent interface {
	Content
	// AppendLocals appends what Local(i, size) returns for i in [from, to) to dst and stops at the first block that
	// Local would not identify.
	AppendLocals(dst []LocalHash, from, to, size int) []LocalHash
}
