package shown

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"review-bot/reviewer/diff"
)

// A checker reports whether data is a file of its kind from the first byte to the last.
type checker func(data []byte) bool

// checkers are the pictures and fonts that are known, by the end of their name.
var checkers = map[string]checker{
	".png": png, ".gif": gif, ".jpg": jpeg, ".jpeg": jpeg, ".webp": webp, ".ico": ico, ".bmp": bmp, ".avif": avif,
	".ttf": sfnt, ".otf": sfnt, ".woff": woff, ".woff2": woff,
}

// picture says what a file is by its name, if that is a picture's or a font's, and why it isn't believed:
// its content is another, there is text in it, or it isn't an ordinary file. One file can be a picture to
// people and a program to a shell, so nothing may come after the picture's end either.
func picture(path string, mode diff.Mode, data []byte) (kind, problem string) {
	end := extension(path)
	check := checkers[end]
	if check == nil {
		return "", ""
	}
	kind = "picture"
	if slices.Contains([]string{".ttf", ".otf", ".woff", ".woff2"}, end) {
		kind = "font"
	}
	switch {
	case mode != regular:
		return kind, "named as a " + kind + ", but it can be run"
	case !check(data):
		return kind, "named as a " + kind + ", but its content is not, or not only, one"
	case wordy(data):
		return kind, kind + " with text in it"
	default:
		return kind, ""
	}
}

// A stretch of readable characters as long and as varied as that is text.
const (
	wordyRun   = 100
	wordySigns = 16
)

func wordy(data []byte) bool {
	n := 0
	for i := 0; i <= len(data); i++ {
		if i < len(data) && (data[i] >= ' ' && data[i] <= '~' || data[i] == '\n' || data[i] == '\t') {
			n++
			continue
		}
		if n >= wordyRun && distinct(data[i-n:i]) >= wordySigns {
			return true
		}
		n = 0
	}
	return false
}

func distinct(data []byte) int {
	var seen [256]bool
	n := 0
	for _, c := range data {
		if !seen[c] {
			seen[c] = true
			n++
		}
	}
	return n
}

func png(data []byte) bool {
	rest, ok := bytes.CutPrefix(data, []byte("\x89PNG\r\n\x1a\n"))
	for first := true; ok && len(rest) >= 12; first = false {
		n := binary.BigEndian.Uint32(rest)
		if uint64(n)+12 > uint64(len(rest)) {
			return false
		}
		chunk, sum := rest[4:8+n], binary.BigEndian.Uint32(rest[8+n:])
		name := string(chunk[:4])
		if crc32.ChecksumIEEE(chunk) != sum || first != (name == "IHDR") {
			return false
		}
		rest = rest[12+n:]
		if name == "IEND" {
			return len(rest) == 0
		}
	}
	return false
}

func gif(data []byte) bool {
	if len(data) < 13 || string(data[:6]) != "GIF87a" && string(data[:6]) != "GIF89a" {
		return false
	}
	colours := func(flags byte) int {
		if flags&0x80 == 0 {
			return 0
		}
		return 3 << (flags&7 + 1)
	}
	at := 13 + colours(data[10])
	blocks := func() bool { // length and bytes, up to an empty one
		for at < len(data) {
			n := int(data[at])
			at += n + 1
			if n == 0 {
				return true
			}
		}
		return false
	}
	for at < len(data) {
		switch data[at] {
		case 0x3b:
			return at == len(data)-1
		case 0x21:
			at++
			if at >= len(data) || data[at] != 0xf9 && data[at] != 0xff { // comments and plain text may hold anything
				return false
			}
			at++
		case 0x2c:
			if at+10 > len(data) {
				return false
			}
			at += 11 + colours(data[at+9])
		default:
			return false
		}
		if !blocks() {
			return false
		}
	}
	return false
}

func jpeg(data []byte) bool {
	if !bytes.HasPrefix(data, []byte{0xff, 0xd8, 0xff}) {
		return false
	}
	for at := 2; at+1 < len(data); {
		if data[at] != 0xff {
			return false
		}
		mark := data[at+1]
		at += 2
		switch {
		case mark == 0xd9: // the end
			return at == len(data)
		case mark == 0xff:
			at-- // fill
			continue
		case mark == 0xfe, mark < 0xc0, mark >= 0xd0 && mark <= 0xd8: // a comment, or out of place
			return false
		}
		if at+2 > len(data) {
			return false
		}
		n := int(binary.BigEndian.Uint16(data[at:]))
		if n < 2 || at+n > len(data) {
			return false
		}
		at += n
		if mark == 0xda { // then comes the picture itself, up to the next mark
			for at+1 < len(data) && (data[at] != 0xff || data[at+1] == 0 || data[at+1] >= 0xd0 && data[at+1] <= 0xd7) {
				at++
			}
		}
	}
	return false
}

func webp(data []byte) bool {
	if len(data) < 20 || string(data[:4]) != "RIFF" || string(data[8:15]) != "WEBPVP8" {
		return false
	}
	if int64(binary.LittleEndian.Uint32(data[4:]))+8 != int64(len(data)) {
		return false
	}
	at := int64(12)
	for at+8 <= int64(len(data)) {
		n := int64(binary.LittleEndian.Uint32(data[at+4:]))
		at += 8 + n + n%2
	}
	return at == int64(len(data))
}

func ico(data []byte) bool {
	if len(data) < 22 || string(data[:4]) != "\x00\x00\x01\x00" {
		return false
	}
	n := int(binary.LittleEndian.Uint16(data[4:]))
	end := int64(6 + 16*n)
	if n == 0 || end > int64(len(data)) {
		return false
	}
	for i := range n {
		entry := data[6+16*i:]
		size, from := int64(binary.LittleEndian.Uint32(entry[8:])), int64(binary.LittleEndian.Uint32(entry[12:]))
		if from != end || size == 0 { // one after the other, without a gap
			return false
		}
		end += size
	}
	return end == int64(len(data))
}

func bmp(data []byte) bool {
	return len(data) > 54 && string(data[:2]) == "BM" &&
		int64(binary.LittleEndian.Uint32(data[2:])) == int64(len(data)) &&
		binary.LittleEndian.Uint32(data[6:]) == 0 && binary.LittleEndian.Uint32(data[10:]) >= 54
}

func avif(data []byte) bool {
	if len(data) < 16 || string(data[4:8]) != "ftyp" || string(data[8:11]) != "avi" {
		return false
	}
	at := int64(0)
	for at+8 <= int64(len(data)) {
		n := int64(binary.BigEndian.Uint32(data[at:]))
		if n < 8 || !slices.Contains([]string{"ftyp", "meta", "mdat", "moov"}, string(data[at+4:at+8])) {
			return false
		}
		at += n
	}
	return at == int64(len(data))
}

func sfnt(data []byte) bool {
	if len(data) < 28 || !slices.Contains([]string{"\x00\x01\x00\x00", "OTTO", "true"}, string(data[:4])) {
		return false
	}
	n := int(binary.BigEndian.Uint16(data[4:]))
	end := int64(12 + 16*n)
	if n == 0 || end > int64(len(data)) {
		return false
	}
	for i := range n {
		record := data[12+16*i:]
		end = max(end, int64(binary.BigEndian.Uint32(record[8:]))+int64(binary.BigEndian.Uint32(record[12:])))
	}
	return end <= int64(len(data)) && (end+3)/4*4 >= int64(len(data))
}

func woff(data []byte) bool {
	return len(data) > 44 && slices.Contains([]string{"wOFF", "wOF2"}, string(data[:4])) &&
		int64(binary.BigEndian.Uint32(data[8:])) == int64(len(data))
}
