"""
Makes fonts that have the widths of fonts that are not free, so that lines break as in Word: glyphs of a free font, each scaled
in width. Usage: makeFonts.py <JSON> <target folder> <font folder>…

The JSON object has, by the name of each family to make: "base", the file name of a free TrueType font by style ("regular",
"bold", "italic", "boldItalic"); "scale", the factor of widths that are not known; "ascent" and "descent" of the lines (null: those
of the free font); "characters" whose widths are known; "widths", by style. Lengths are in thousandths of the font size.

The tables are those of the OpenType specification 1.9. Instructions and kerning are left out, because they do not fit the new
shapes.
"""

import json
import os
import struct
import sys
import unicodedata

KEPT = ("OS/2", "cmap", "glyf", "head", "hhea", "hmtx", "loca", "maxp", "name", "post", "GDEF", "GSUB")
# Glyphs of later characters keep their widths: the free fonts have many, and texts in other scripts use other fonts.
LAST_CHARACTER = 0x2BFF
STYLES = {"regular": "Regular", "bold": "Bold", "italic": "Italic", "boldItalic": "Bold Italic"}
ARGS_ARE_WORDS, ARGS_ARE_XY, HAS_SCALE, MORE, HAS_XY_SCALE, HAS_2X2, INSTRUCTED = 1, 2, 8, 32, 64, 128, 256


def read_tables(data):
    count = struct.unpack_from(">H", data, 4)[0]
    tables = {}
    for index in range(count):
        tag, _, offset, length = struct.unpack_from(">4sLLL", data, 12 + 16 * index)
        tables[tag.decode("latin-1")] = data[offset : offset + length]
    return tables


def read_cmap(table):
    """Returns the glyph of each character of the basic plane (format 4)."""
    glyphs = {}
    for index in range(struct.unpack_from(">H", table, 2)[0]):
        offset = struct.unpack_from(">HHL", table, 4 + 8 * index)[2]
        if struct.unpack_from(">H", table, offset)[0] != 4:
            continue
        count = struct.unpack_from(">H", table, offset + 6)[0] // 2
        ends, starts = offset + 14, offset + 16 + 2 * count
        deltas, ranges = starts + 2 * count, starts + 4 * count
        for segment in range(count):
            end, start = (struct.unpack_from(">H", table, at + 2 * segment)[0] for at in (ends, starts))
            delta, at = (struct.unpack_from(">H", table, base + 2 * segment)[0] for base in (deltas, ranges))
            for character in range(start, min(end, 0xFFFE) + 1):
                glyph = character
                if at != 0:
                    glyph = struct.unpack_from(">H", table, ranges + 2 * segment + at + 2 * (character - start))[0]
                if at == 0 or glyph != 0:
                    glyphs[character] = (glyph + delta) & 0xFFFF
    return glyphs


def scale_simple(glyph, contours, factor):
    """Returns a simple glyph with its x coordinates multiplied by a factor."""
    at = 10 + 2 * contours
    points = struct.unpack_from(">H", glyph, at - 2)[0] + 1
    at += 2 + struct.unpack_from(">H", glyph, at)[0]
    flags = []
    while len(flags) < points:
        flag, at = glyph[at], at + 1
        repeat = 1
        if flag & 8:
            repeat, at = glyph[at] + 1, at + 1
        flags += [flag] * repeat
    coordinates = []
    for short, same in ((2, 16), (4, 32)):
        value, values = 0, []
        for flag in flags:
            if flag & short:
                value += glyph[at] if flag & same else -glyph[at]
                at += 1
            elif not flag & same:
                value += struct.unpack_from(">h", glyph, at)[0]
                at += 2
            values.append(value)
        coordinates.append(values)
    xs = [round(x * factor) for x in coordinates[0]]
    ys = coordinates[1]
    deltas = lambda values: [b - a for a, b in zip([0] + values, values)]
    # The flags keep "on curve" (1) and "overlap" (64). Each coordinate takes two bytes.
    body = bytes(flag & 65 for flag in flags)
    body += struct.pack(f">{points}h", *deltas(xs)) + struct.pack(f">{points}h", *deltas(ys))
    box = struct.pack(">hhhhh", contours, min(xs), min(ys), max(xs), max(ys))
    return box + glyph[10 : 10 + 2 * contours] + b"\0\0" + body


def scale_composite(glyph, factor):
    """Returns a composite glyph whose parts are moved to the places that they have in the scaled glyph."""
    box = struct.unpack_from(">hhhhh", glyph, 0)
    out = struct.pack(">hhhhh", -1, round(box[1] * factor), box[2], round(box[3] * factor), box[4])
    at, more = 10, True
    while more:
        flags, part = struct.unpack_from(">HH", glyph, at)
        at += 4
        form = ">hh" if flags & ARGS_ARE_WORDS else ">bb"
        first, second = struct.unpack_from(form, glyph, at)
        at += struct.calcsize(form)
        scale = 8 if flags & HAS_2X2 else 4 if flags & HAS_XY_SCALE else 2 if flags & HAS_SCALE else 0
        if flags & ARGS_ARE_XY:
            first = round(first * factor)
        more = bool(flags & MORE)
        out += struct.pack(">HHhh", (flags | ARGS_ARE_WORDS) & ~INSTRUCTED, part, first, second)
        out += glyph[at : at + scale]
        at += scale
    return out


def glyph_widths(cmap, advances, scale, widths, em):
    """Returns the new width of each glyph that changes."""
    known = dict(widths)
    for character in range(0xC0, 0x250):
        # An accented letter is as wide as the letter.
        base = unicodedata.normalize("NFD", chr(character))[0]
        if base in known:
            known.setdefault(chr(character), known[base])
    new = {}
    for character, glyph in sorted(cmap.items()):
        if character > LAST_CHARACTER:
            continue
        width = known.get(chr(character))
        new.setdefault(glyph, round(width * em / 1000) if width is not None else round(advances[glyph] * scale))
    return new


def name_table(family, style):
    postscript = f"{family}-{style}".replace(" ", "")
    names = {1: family, 2: style, 3: postscript, 4: f"{family} {style}", 6: postscript}
    records, text = b"", b""
    for number, value in names.items():
        data = value.encode("utf-16-be")
        records += struct.pack(">HHHHHH", 3, 1, 0x409, number, len(data), len(text))
        text += data
    return struct.pack(">HHH", 0, len(names), 6 + len(records)) + records + text


def checksum(data):
    data += b"\0" * (-len(data) % 4)
    return sum(struct.unpack(f">{len(data) // 4}L", data)) & 0xFFFFFFFF


def write_font(tables):
    count = len(tables)
    power = 1 << (count.bit_length() - 1)
    head = struct.pack(">LHHHH", 0x00010000, count, power * 16, power.bit_length() - 1, count * 16 - power * 16)
    offset, records, body = 12 + 16 * count, b"", b""
    for tag in sorted(tables):
        data = tables[tag]
        records += struct.pack(">4sLLL", tag.encode("latin-1"), checksum(data), offset + len(body), len(data))
        body += data + b"\0" * (-len(data) % 4)
    return head + records + body


def make_font(data, family, style, scale, widths, ascent, descent):
    tables = {tag: table for tag, table in read_tables(data).items() if tag in KEPT}
    em = struct.unpack_from(">H", tables["head"], 18)[0]
    is_long = struct.unpack_from(">h", tables["head"], 50)[0] == 1
    count = struct.unpack_from(">H", tables["maxp"], 4)[0]
    metrics = struct.unpack_from(">H", tables["hhea"], 34)[0]
    advances, bearings = [], []
    for glyph in range(count):
        at = 4 * min(glyph, metrics - 1)
        advances.append(struct.unpack_from(">H", tables["hmtx"], at)[0])
        at = 4 * glyph + 2 if glyph < metrics else 4 * metrics + 2 * (glyph - metrics)
        bearings.append(struct.unpack_from(">h", tables["hmtx"], at)[0])
    form = f">{count + 1}{'L' if is_long else 'H'}"
    offsets = [it * (1 if is_long else 2) for it in struct.unpack_from(form, tables["loca"], 0)]

    new = glyph_widths(read_cmap(tables["cmap"]), advances, scale, widths, em)
    glyphs, locations = [], [0]
    for glyph in range(count):
        outline = tables["glyf"][offsets[glyph] : offsets[glyph + 1]]
        width = new.get(glyph)
        if width is not None and advances[glyph] > 0:
            factor = width / advances[glyph]
            advances[glyph] = width
            bearings[glyph] = round(bearings[glyph] * factor)
            contours = struct.unpack_from(">h", outline, 0)[0] if outline else 0
            if contours > 0:
                outline = scale_simple(outline, contours, factor)
            elif contours < 0:
                outline = scale_composite(outline, factor)
        outline += b"\0" * (-len(outline) % 4)
        glyphs.append(outline)
        locations.append(locations[-1] + len(outline))
    tables["glyf"] = b"".join(glyphs)
    tables["loca"] = struct.pack(f">{count + 1}L", *locations)
    tables["hmtx"] = b"".join(struct.pack(">Hh", *it) for it in zip(advances, bearings))

    head, hhea, os2 = (bytearray(tables[tag]) for tag in ("head", "hhea", "OS/2"))
    struct.pack_into(">h", head, 50, 1)
    struct.pack_into(">H", hhea, 34, count)
    struct.pack_into(">H", hhea, 10, max(advances))
    if ascent is not None:
        up, down = round(ascent * em / 1000), round(descent * em / 1000)
        struct.pack_into(">hhh", hhea, 4, up, -down, 0)
        struct.pack_into(">hhh", os2, 68, up, -down, 0)
        struct.pack_into(">HH", os2, 74, up, down)
    tables.update({"head": bytes(head), "hhea": bytes(hhea), "OS/2": bytes(os2)})
    tables["name"] = name_table(family, STYLES[style])
    return write_font(tables)


def main(specification, target, folders):
    files = {}
    for folder in folders:
        for path, _, names in os.walk(folder):
            for name in names:
                files.setdefault(name, os.path.join(path, name))
    for family, it in json.loads(specification).items():
        for style, name in it["base"].items():
            if name not in files:
                continue
            with open(files[name], "rb") as file:
                data = file.read()
            widths = dict(zip(it["characters"], it["widths"].get(style, ())))
            font = make_font(data, family, style, it["scale"], widths, it["ascent"], it["descent"])
            with open(os.path.join(target, f"{family}-{style}.ttf"), "wb") as file:
                file.write(font)


main(sys.argv[1], sys.argv[2], sys.argv[3:])
