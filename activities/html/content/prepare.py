"""Labels the blocks of pages and packs their features for train.py: python3 prepare.py FILE, where FILE is what
test/quality/webTextFeatures.ts wrote. Writes FILE.pack."""

import collections
import hashlib
import json
import multiprocessing
import pickle
import re
import sys
import zlib
from urllib.parse import urlsplit

import numpy as np

WORD = re.compile(r"\w+")
SHINGLE = 4
FAMILIES = ["kin", "part", "up1", "up3", "up6", "group", "item", "slot"]


def words_of(text):
    return WORD.findall(text.lower())


def domain_of(url):
    return ".".join((urlsplit(url).hostname or "").split(".")[-2:])


def part_of(url):
    """The fifth of the domains that a page is in. The last one is kept for measuring."""
    return int(hashlib.sha256(domain_of(url).encode()).hexdigest(), 16) % 5


def label(page):
    """How far each block is content: the share of its sequences of four words that the wanted text has. Shorter blocks must
    be in the text as a whole; of equal ones only as many count as the text has, the nearest to other content first."""
    want = words_of(page["want"])
    grams = collections.Counter(
        tuple(want[at : at + k]) for k in range(1, SHINGLE + 1) for at in range(len(want) - k + 1)
    )
    blocks = [words_of(text) for text in page["texts"]]
    labels = np.zeros(len(blocks))
    if not blocks:
        return labels, blocks
    for at, block in enumerate(blocks):
        if len(block) >= SHINGLE:
            own = [tuple(block[i : i + SHINGLE]) for i in range(len(block) - SHINGLE + 1)]
            labels[at] = sum(grams[gram] > 0 for gram in own) / len(own)
    # How far the long blocks around are content.
    index = np.arange(len(blocks))
    weight = np.minimum([len(block) if len(block) >= SHINGLE else 0 for block in blocks], 30).astype(float)
    kernel = np.exp(-np.abs(np.arange(-15, 16)) / 4)
    if len(blocks) >= len(kernel):
        near, total = (np.convolve(it, kernel, "same") for it in (labels * weight, weight))
    else:
        spread = np.exp(-np.abs(index[:, None] - index[None]) / 4)
        near, total = spread @ (labels * weight), spread @ weight
    near = near / np.maximum(total, 1e-9)
    equal = collections.defaultdict(list)
    for at, block in enumerate(blocks):
        equal[tuple(block)].append(at)
    for block, where in equal.items():
        order = sorted(where, key=lambda at: -near[at])
        if not block:
            continue
        if len(block) >= SHINGLE:
            count = min(grams[block[i : i + SHINGLE]] for i in range(len(block) - SHINGLE + 1))
            if len(where) > 1 and count > 0:
                for at in order[count:]:
                    labels[at] = 0
            continue
        count = grams[block]
        for rank, at in enumerate(order):
            if count >= len(where) and len(block) > 1:
                labels[at] = 1 if near[at] > 0.02 or len(where) == 1 else 0.5
            else:
                labels[at] = min(1, near[at] * 1.6) if rank < count else 0
    return labels, blocks


def main(file):
    names = json.load(open(f"{file}.names.json"))
    pages = [json.loads(line) for line in open(f"{file}.jsonl")]
    with multiprocessing.Pool() as pool:
        labelled = pool.map(label, pages, 16)
    numbers = {}

    def numbered(words):
        return np.array([numbers.setdefault(word, len(numbers)) for word in words], np.int32)

    data = {
        "names": names,
        "pages": np.array([page["page"] for page in pages], np.float32),
        "labels": np.concatenate([labels for labels, _ in labelled]).astype(np.float32),
        "families": {
            family: np.concatenate([np.array(page["fam"][at], np.int32) for page in pages])
            for at, family in enumerate(FAMILIES)
        },
        "count": [len(page["texts"]) for page in pages],
        "type": [page["type"] for page in pages],
        "domain": [domain_of(page["url"]) for page in pages],
        "part": [part_of(page["url"]) for page in pages],
        "blocks": [[numbered(block) for block in blocks] for _, blocks in labelled],
        "want": [numbered(words_of(page["want"])) for page in pages],
    }
    with open(f"{file}.pack", "wb") as out:
        out.write(zlib.compress(pickle.dumps(data, protocol=4), 3))


if __name__ == "__main__":
    main(sys.argv[1])
