"""
A component of LibreOffice that forks a process for each document, so that every document has a fresh process that is
already warm. The fork server itself opens only the warm-up document and reads nothing from callers.

stdin: numbers of file descriptors of unused sockets, one per line. For each, the fork server forks a process, which
receives its document through that socket. stdout: "ready" after the warm-up. The fork server exits when stdin ends and all
documents are converted.

Request through a socket: a line with a JSON object, then the document, then the documents that are inserted into it. The
object has "filter" (import filter; empty to detect it), "name" (file name), "size" (in bytes), "embedded" (of each inserted
document "bookmark", "filter" and "size"), "families" (font families) and "characters".

Response: a line and data. The line is "pdf <size in bytes> <size of the report>" before the PDF and the report, "unreadable"
before the reason, or, for a fault of the service, "failed" before the reason. The report is a JSON object with "fonts" (for each
family those that may be used for it) and "undrawable" (those of the characters that no font has). After the response follows a
last line: "ended" when the process has ended by itself, also by a crash, or "killed" when it was killed from outside the
sandbox. Without a last line, the fork server or the parent of the process was killed. The process is killed when the worker
closes its end of the socket for writing.
"""

import ctypes
import fcntl
import gc
import json
import os
import re
import select
import signal
import stat
import sys
import time
import traceback

import uno
import unohelper
from com.sun.star.beans import PropertyValue
from com.sun.star.style.CaseMap import LOWERCASE, NONE, UPPERCASE
from com.sun.star.style.NumberingType import ARABIC, CHARS_LOWER_LETTER_N, CHARS_UPPER_LETTER_N, ROMAN_LOWER, ROMAN_UPPER
from com.sun.star.style.NumberingType import ARABIC_ZERO, ARABIC_ZERO3, ARABIC_ZERO4, ARABIC_ZERO5
from com.sun.star.style.NumberingType import TEXT_CARDINAL, TEXT_NUMBER, TEXT_ORDINAL
from com.sun.star.task import XJobExecutor
from com.sun.star.text.FilenameDisplayFormat import FULL, NAME_AND_EXT, PATH
from com.sun.star.text.PageNumberType import CURRENT

# The only folder that the process of a document can write to; LibreOffice keeps its temporary files in this folder.
JOB = "/tmp/job"

# Constants of <linux/sched.h>, <linux/mount.h>, <linux/prctl.h> and <linux/capability.h>.
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND = 1, 2, 4, 32, 4096
PR_SET_PDEATHSIG = 1
CAPABILITY_VERSION_3 = 0x20080522

# The thread that listens on LibreOffice's pipe, the only one that never ends. start.sh leaves out the one that saves settings.
PIPE_THREAD = "PipeIPC"
THREADS_SECONDS = 30
# Time between two looks at the threads.
IDLE_SECONDS = 0.01

# The set of fonts of the system (FcSetSystem of <fontconfig/fontconfig.h>).
SYSTEM_FONTS = 0

# Formats of numbers (docx/pageNumbers.ts) by LibreOffice's names of them, and the name of a field with such a number.
FORMATS = {
    ROMAN_UPPER: "Roman",
    ROMAN_LOWER: "roman",
    CHARS_UPPER_LETTER_N: "Alphabetic",
    CHARS_LOWER_LETTER_N: "alphabetic",
    TEXT_CARDINAL: "cardtext",
    TEXT_ORDINAL: "ordtext",
    TEXT_NUMBER: "ordinal",
    ARABIC_ZERO: "00",
    ARABIC_ZERO3: "000",
    ARABIC_ZERO4: "0000",
    ARABIC_ZERO5: "00000",
}
# The prefixes by which LibreOffice's service for numbers as words knows their kinds.
WORDS = {"cardtext": "", "ordtext": "ordinal ", "ordinal": "ordinal-number "}
LETTERS = {"": str, "caps": str.title, "firstcap": lambda text: text[:1].upper() + text[1:], "upper": str.upper}
MARK = re.compile(r"_pages (?P<of>PAGE|SECTION|NUMPAGES|SECTIONPAGES) (?P<offset>-?\d+) (?P<starts>[-\d,]+) (?P<format>[\w ]*)")

libc = ctypes.CDLL(None, use_errno=True)


class FontSet(ctypes.Structure):
    """FcFontSet of <fontconfig/fontconfig.h>."""

    _fields_ = [("count", ctypes.c_int), ("room", ctypes.c_int), ("patterns", ctypes.POINTER(ctypes.c_void_p))]


def check(result):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def mount(kind, target, flags, options=None):
    flags |= MS_NOSUID | MS_NODEV
    check(libc.mount(kind, target.encode(), kind, ctypes.c_ulong(flags), options))


def write_file(path, data):
    with open(path, "wb") as file:
        file.write(data)


def close_all_but(channel):
    """Closes all file descriptors except the channel and regular files that are open only for reading, such as fonts."""
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    for fd in map(int, os.listdir("/proc/self/fd")):
        try:
            read_only = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
            if fd > 2 and fd != channel and not (read_only and stat.S_ISREG(os.fstat(fd).st_mode)):
                os.close(fd)
        except OSError:
            pass  # The descriptor of os.listdir itself, which is closed already.


def isolate(channel):
    """Moves this process and its children into namespaces of their own: no shared processes, writable files or network."""
    close_all_but(channel)
    # The scheduler shares the cores out among sessions (autogroups), so documents in one session would share one part.
    os.setsid()
    folders = os.listdir(JOB)
    ids = b"%d %d 1" % (os.getuid(), os.getuid())
    groups = b"%d %d 1" % (os.getgid(), os.getgid())
    spaces = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET
    check(libc.unshare(spaces))
    write_file("/proc/self/setgroups", b"deny")
    write_file("/proc/self/uid_map", ids)
    write_file("/proc/self/gid_map", groups)
    mount(b"tmpfs", JOB, 0, b"mode=700,size=" + os.environ["SCRATCH_BYTES"].encode())
    for name in folders:
        os.mkdir(os.path.join(JOB, name))
    mount(None, "/tmp", MS_REMOUNT | MS_BIND | MS_RDONLY)
    # Covers /proc, which shows the processes of the fork server.
    mount(b"tmpfs", "/proc", MS_RDONLY)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    check(libc.capset(header, (ctypes.c_uint32 * 6)()))


def busy_threads():
    """Returns the names of the other threads of this process that may hold a lock."""
    busy = []
    for thread in os.listdir("/proc/self/task"):
        if int(thread) == os.getpid():
            continue
        try:
            with open(f"/proc/self/task/{thread}/comm") as file:
                name = file.read().strip()
        except FileNotFoundError:
            continue  # The thread has ended.
        if name != PIPE_THREAD:
            busy.append(name)
    return busy


def wait_for_threads():
    """
    Waits until LibreOffice's temporary threads have ended. A forked process does not contain other threads than the forking one,
    and would wait forever for them and for their locks.
    """
    deadline = time.monotonic() + THREADS_SECONDS
    idle_looks = 0
    while idle_looks < 2:
        idle_looks = 0 if busy_threads() else idle_looks + 1
        if time.monotonic() > deadline:
            raise TimeoutError(f"threads of LibreOffice do not end: {busy_threads()}")
        time.sleep(IDLE_SECONDS)


def wait(child, channel):
    """Waits until the child has ended, and returns its wait status. Kills it when the worker closes its end of the channel."""
    ended = os.pidfd_open(child)
    events = select.poll()
    events.register(ended, select.POLLIN)
    events.register(channel, select.POLLRDHUP)
    if ended not in (fd for fd, _ in events.poll()):
        os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def properties(values):
    return tuple(PropertyValue(name, 0, value, 0) for name, value in values.items())


class ForkServer(unohelper.Base, XJobExecutor):
    def __init__(self, context):
        self.desktop = context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)

    def trigger(self, _):
        """Called on LibreOffice's main thread, which holds the SolarMutex."""
        try:
            self.serve()
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)

    def serve(self):
        # Converting a document once loads filters, fonts and table layout, which takes longer than the conversion itself.
        self.convert("/tmp/warm.docx", "", "/tmp/warm.pdf").close(True)
        self.fonts = Fonts()
        # Removes LibreOffice's named pipes, so that other processes cannot send commands to the fork server.
        for name in os.listdir("/tmp"):
            if name.startswith("OSL_PIPE_"):
                os.unlink("/tmp/" + name)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        # Releases the SolarMutex, because a mutex that is held during a fork cannot be released in the child.
        vcl = ctypes.CDLL(None)
        depth = vcl._ZN11Application17ReleaseSolarMutexEv()
        # Excludes existing objects from garbage collection, which would copy memory that forked processes share.
        gc.freeze()
        os.write(1, b"ready\n")
        for line in open(0, "rb"):
            channel = int(line)
            wait_for_threads()
            if os.fork() == 0:
                self.serve_document(channel, lambda: vcl._ZN11Application17AcquireSolarMutexEj(depth))
            os.close(channel)
        try:
            os.wait()
        except ChildProcessError:
            pass  # Because SIGCHLD is ignored, os.wait() raises this error after the last child has ended.

    def serve_document(self, channel, acquire_mutex):
        """Runs in the forked process, and converts the document in a child that is process 1 of a new PID namespace."""
        try:
            isolate(channel)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            child = os.fork()
            if child == 0:
                libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                acquire_mutex()
                self.answer(channel)
            else:
                status = wait(child, channel)
                killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
                with open(channel, "wb", closefd=False) as reply:
                    reply.write(b"\nkilled" if killed else b"\nended")
        except ConnectionError:
            pass  # The worker does not read the response any more.
        except BaseException as error:
            with open(channel, "wb") as reply:
                reply.write(f"failed\n{error!r}".encode())
        os._exit(0)

    def answer(self, channel):
        with open(channel, "rb", closefd=False) as stream:
            line = stream.readline()
            if line == b"":
                return
            request = json.loads(line)
            os.mkdir(JOB + "/in")
            source = f"{JOB}/in/{request['name']}"
            write_file(source, stream.read(request["size"]))
            os.mkdir(JOB + "/embedded")
            embedded = []
            for index, item in enumerate(request["embedded"]):
                path = f"{JOB}/embedded/{index}"
                write_file(path, stream.read(item["size"]))
                embedded.append((item["bookmark"], item["filter"], path))
        pdf = JOB + "/out.pdf"
        try:
            self.convert(source, request["filter"], pdf, embedded)
            with open(pdf, "rb") as file:
                data = file.read()
            report = json.dumps(self.fonts.report(request["families"], request["characters"])).encode()
            reply = b"pdf %d %d\n" % (len(data), len(report)) + data + report
        except Exception as error:
            reply = f"unreadable\n{error!r}".encode()
        with open(channel, "wb", closefd=False) as stream:
            stream.write(reply)

    def convert(self, source, filter_name, target, embedded=()):
        """Converts as `soffice --convert-to pdf` does, and returns the open document."""
        options = {"Hidden": True, "Silent": True, "ReadOnly": True, "OpenNewView": True}
        if filter_name != "":
            options["FilterName"] = filter_name
        url = uno.systemPathToFileUrl(source)
        document = self.desktop.loadComponentFromURL(url, "_blank", 0, properties(options))
        if document is None:
            raise OSError("the document was not loaded")
        for item in embedded:
            insert_document(document, *item)
        show_names(document)
        fade_pictures(document)
        url = uno.systemPathToFileUrl(target)
        export = properties({"FilterName": "writer_pdf_Export"})
        document.storeToURL(url, export)
        if show_page_numbers(document, target):
            document.storeToURL(url, export)
        return document


def insert_document(document, bookmark, filter_name, path):
    """Replaces the paragraph of a bookmark by a document, as Word does with embedded documents (altChunk)."""
    bookmarks = document.getBookmarks()
    if not bookmarks.hasByName(bookmark):
        raise OSError("the place of an embedded document is missing")
    anchor = bookmarks.getByName(bookmark).getAnchor()
    cursor = anchor.getText().createTextCursorByRange(anchor)
    cursor.insertDocumentFromURL(uno.systemPathToFileUrl(path), properties({"FilterName": filter_name}))


class Fonts:
    """The fonts that fontconfig knows, from which LibreOffice takes replacements of missing ones."""

    def __init__(self):
        self.lib = ctypes.CDLL("libfontconfig.so.1")
        for name in ("FcPatternCreate", "FcFontMatch", "FcCharSetCreate", "FcConfigGetFonts"):
            getattr(self.lib, name).restype = ctypes.c_void_p
        self.characters = ctypes.c_void_p(self.lib.FcCharSetCreate())
        fonts = FontSet.from_address(self.lib.FcConfigGetFonts(None, SYSTEM_FONTS))
        charset, changed = ctypes.c_void_p(), ctypes.c_int()
        for index in range(fonts.count):
            pattern = ctypes.c_void_p(fonts.patterns[index])
            if self.lib.FcPatternGetCharSet(pattern, b"charset", 0, ctypes.byref(charset)) == 0:
                self.lib.FcCharSetMerge(self.characters, charset, ctypes.byref(changed))

    def report(self, families, characters):
        has = self.lib.FcCharSetHasChar
        return {
            "fonts": {family: self.match(family) for family in families},
            "undrawable": [it for it in characters if not has(self.characters, ctypes.c_uint32(ord(it)))],
        }

    def match(self, family):
        """
        Returns the families that fontconfig uses for a family. LibreOffice adds a class of fonts to its request, by what the document
        says about the font.
        """
        return list(dict.fromkeys(self.match_class(family, it) for it in (None, "serif", "sans-serif", "monospace")))

    def match_class(self, family, generic):
        pattern = ctypes.c_void_p(self.lib.FcPatternCreate())
        for name in (family, generic):
            if name is not None:
                self.lib.FcPatternAddString(pattern, b"family", name.encode())
        self.lib.FcConfigSubstitute(None, pattern, 0)
        self.lib.FcDefaultSubstitute(pattern)
        found = ctypes.c_void_p(self.lib.FcFontMatch(None, pattern, ctypes.byref(ctypes.c_int())))
        # A font has its family name in several languages.
        name, names = ctypes.c_char_p(), []
        while found and self.lib.FcPatternGetString(found, b"family", len(names), ctypes.byref(name)) == 0:
            names.append(name.value.decode())
        return next((it for it in names if it.lower() == family.lower()), names[0] if names else family)


def show_names(document):
    """Makes fields that show the document's path show its file name, because the path exists only in this sandbox."""
    fields = document.getTextFields()
    for field in list(fields):
        if not field.supportsService("com.sun.star.text.TextField.FileName"):
            continue
        if field.FileFormat in (FULL, PATH):
            field.FileFormat = NAME_AND_EXT
    fields.refresh()


def fade_pictures(document):
    """Gives pictures the opacity that their title contains, and removes it from there (docx/pictures.ts)."""
    pictures = document.getGraphicObjects()
    shapes = [pictures.getByName(name) for name in pictures.getElementNames()] + [document.getDrawPage()]
    while shapes:
        shape = shapes.pop()
        mark = re.match(r"_opacity (\d+) ", getattr(shape, "Title", ""))
        if mark:
            shape.Title = shape.Title[mark.end() :]
        # The page, and groups.
        if hasattr(shape, "getByIndex"):
            shapes.extend(shape.getByIndex(index) for index in range(shape.getCount()))
        elif mark and hasattr(shape, "Transparency"):
            shape.Transparency = 100 - int(mark[1])


def show_page_numbers(document, pdf):
    """
    Makes fields with the number of pages show that of the PDF. LibreOffice also counts blank pages that it inserts where numbering
    begins anew, but does not export them. Replaces the fields that docx/pageNumbers.ts has marked by their numbers. Returns whether a
    field has changed.
    """
    fields = list(document.getTextFields())
    counts = [it for it in fields if it.supportsService("com.sun.star.text.TextField.PageCount")]
    marked = [it for it in fields if it.supportsService("com.sun.star.text.textfield.docinfo.Custom")]
    marked = [(it, mark) for it in marked if (mark := MARK.fullmatch(it.Name))]
    if not counts and not marked:
        return False
    with open(pdf, "rb") as file:
        pages = len(re.findall(rb"/Type\s*/Page\b", file.read()))
    if pages == document.getCurrentController().PageCount:
        counts = []
    for field in counts:
        anchor = field.getAnchor()
        anchor.setString(format_number(pages, FORMATS.get(field.NumberingType, ""), anchor.CharLocale))
    sections = section_pages(document) if any(mark["of"].startswith("SECTION") for _, mark in marked) else {}
    for field, mark in marked:
        anchor, offset = field.getAnchor(), int(mark["offset"])
        if mark["of"] == "PAGE":
            number = document.createInstance("com.sun.star.text.TextField.PageNumber")
            name, _, letters = mark["format"].partition(" ")
            number.NumberingType = next((it for it, known in FORMATS.items() if known == name), ARABIC)
            number.SubType, number.Offset = CURRENT, offset
            text, dash = anchor.getText(), "- " if name == "arabicdash" else ""
            text.insertTextContent(anchor, number, True)
            if name in WORDS:
                # LibreOffice begins the words with a capital.
                number.getAnchor().CharCaseMap = {"": LOWERCASE, "upper": UPPERCASE}.get(letters, NONE)
            text.insertString(number.getAnchor().getStart(), dash, False)
            text.insertString(number.getAnchor().getEnd(), dash[::-1], False)
        else:
            style = anchor.PageStyleName
            if mark["of"] == "SECTION":
                index, starts = [*sections, style].index(style), re.findall(r"\d+", mark["starts"])
                number = offset or int(starts[index] if index < len(starts) else index + 1)
            else:
                number = offset + (pages if mark["of"] == "NUMPAGES" else sections.get(style, pages))
            anchor.setString(format_number(number, mark["format"], anchor.CharLocale))
    return bool(counts or marked)


def section_pages(document):
    """Returns the number of pages of each page style. LibreOffice makes one for each section that begins on a new page."""
    pages = {}
    cursor = document.getCurrentController().getViewCursor()
    cursor.jumpToFirstPage()
    while True:
        pages[cursor.PageStyleName] = pages.get(cursor.PageStyleName, 0) + 1
        if not cursor.jumpToNextPage():
            return pages


def format_number(number, format_name, locale):
    """
    Formats a number as a field of Word does: in Roman numerals, in letters (a to z, then aa to zz), in words of a language, or with
    leading zeros.
    """
    name, _, letters = format_name.partition(" ")
    if number > 0 and name in WORDS:
        service = uno.getComponentContext().ServiceManager.createInstance("com.sun.star.linguistic2.NumberText")
        return LETTERS[letters](service.getNumberText(f"{WORDS[name]}{number}", locale)) or str(number)
    if name == "arabicdash":
        return f"- {number} -"
    if number > 0 and name == "hex":
        return f"{number:X}"
    if number > 0 and name.lower() == "roman":
        text = roman(number)
    elif number > 0 and name.lower() == "alphabetic":
        text = chr(ord("A") + (number - 1) % 26) * ((number + 25) // 26)
    else:
        return str(number).zfill(format_name.count("0"))
    return text.lower() if format_name[0].islower() else text


def roman(number):
    digits = zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), "M CM D CD C XC L XL X IX V IV I".split())
    text = ""
    for value, digit in digits:
        text += digit * (number // value)
        number %= value
    return text


g_ImplementationHelper = unohelper.ImplementationHelper()
g_ImplementationHelper.addImplementation(ForkServer, "ForkServer", ("ForkServer",))
