"""Trains the model of the main content on a GPU: python3 train.py FILE OUT, where FILE.pack is what prepare.py wrote. Prints the
results of cross-validation over four fifths of the domains, and writes OUT, trained on all of these. The other fifth is not used."""

import base64
import collections
import json
import pickle
import sys
import zlib

import cupy
import numpy as np
import torch

TYPES = ["article", "collection", "documentation", "forum", "listing", "product", "service"]
FAMILIES = ["kin", "part", "up1", "up3", "up6", "group"]
PARTS = [0, 1, 2, 3]
#: Blocks weigh by their number of words to this power, the blocks of a page together 1.
WEIGHT = 0.85
#: Pages of whose wanted text the blocks have less than this (F1) teach nothing.
CLEAN = 0.6
TYPE_TREES = dict(rounds=150, rate=0.06, depth=3, smooth=4.0, least=1.5, features=0.2, rows=0.8)
FIRST_TREES = dict(rounds=300, rate=0.05, depth=5, smooth=10.0, least=3.0, features=0.25, rows=0.5)
SECOND_TREES = dict(rounds=200, rate=0.05, depth=5, smooth=10.0, least=3.0, features=0.25, rows=0.5)
TYPE_EDGES = [np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9], np.float32)] * len(TYPES)
BINS = 64

file, out = sys.argv[1:3]
data = pickle.loads(zlib.decompress(open(f"{file}.pack", "rb").read()))
count = np.array(data["count"])
start = np.concatenate([[0], np.cumsum(count)])
pages, blocks = len(count), start[-1]
page_of = np.repeat(np.arange(pages), count)
part, words = np.array(data["part"]), data["words"].astype(np.float64)
types = np.array([TYPES.index(it) for it in data["type"]])
page_index = torch.tensor(page_of, device="cuda")
rows, page_rows = (torch.tensor(data[it], device="cuda") for it in ("rows", "pages"))
labels = torch.tensor(data["labels"], device="cuda")
weights = np.maximum(words, 1) ** WEIGHT
weights = weights / np.bincount(page_of, weights, minlength=pages)[page_of]
weights = torch.tensor(weights.astype(np.float32), device="cuda")


def span(page):
    return slice(start[page], start[page + 1])


def choose(chances, sizes):
    """The blocks with the largest expected F1, and that F1."""
    order = np.argsort(-chances, kind="stable")
    keep = np.zeros(len(chances), bool)
    if not len(order):
        return keep, 0.0
    right = chances[order] * sizes[order]
    expected = 2 * np.cumsum(right) / np.maximum(np.cumsum(sizes[order]) + right.sum(), 1)
    best = int(np.argmax(expected))
    keep[order[: best + 1]] = True
    return keep, float(expected[best])


def f1(page, keep):
    want = data["want"][page]
    made = [data["blocks"][page][at] for at in np.flatnonzero(keep)]
    made = np.concatenate(made) if made else np.zeros(0, np.int32)
    if not len(want) or not len(made):
        return float(len(want) == len(made))
    _, codes = np.unique(np.concatenate([want, made]), return_inverse=True)
    most = codes.max() + 1
    a, b = np.bincount(codes[: len(want)], minlength=most), np.bincount(codes[len(want) :], minlength=most)
    return 2 * np.minimum(a, b).sum() / (len(want) + len(made))


HISTOGRAM = cupy.RawKernel(
    r"""
extern "C" __global__ void histogram(const unsigned char* rows, const long long* features, const int* node, const float* g,
    const float* h, float* out, int count, int nodes, int chunk) {
  extern __shared__ float sums[];
  int size = nodes * 128;
  for (int i = threadIdx.x; i < size; i += blockDim.x) sums[i] = 0;
  __syncthreads();
  const unsigned char* column = rows + features[blockIdx.x] * (long long)count;
  int end = min(count, (int)(blockIdx.y + 1) * chunk);
  for (int i = blockIdx.y * chunk + threadIdx.x; i < end; i += blockDim.x) {
    if (h[i] == 0.f) continue;
    int at = (node[i] * 64 + column[i]) * 2;
    atomicAdd(&sums[at], g[i]);
    atomicAdd(&sums[at + 1], h[i]);
  }
  __syncthreads();
  float* target = out + (long long)blockIdx.x * size;
  for (int i = threadIdx.x; i < size; i += blockDim.x) if (sums[i] != 0.f) atomicAdd(&target[i], sums[i]);
}""",
    "histogram",
)
HISTOGRAM.max_dynamic_shared_size_bytes = BINS * 128 * 4


def histogram(table, features, node, g, h, nodes):
    """Sums of g and h by feature, node and bin."""
    made = torch.zeros(len(features), nodes, BINS, 2, device="cuda")
    size, chunk = table.shape[1], 16384
    arrays = [cupy.asarray(it) for it in (table, features, node.int(), g, h, made)]
    grid = (len(features), (size + chunk - 1) // chunk)
    numbers = (np.int32(size), np.int32(nodes), np.int32(chunk))
    HISTOGRAM(grid, (256,), (*arrays, *numbers), shared_mem=nodes * 128 * 4)
    return made


def boost(table, target, weight, seed, rounds, rate, depth, smooth, least, features, rows):
    """Gradient boosting (logistic loss) of complete trees over binned features. A tree is the feature and threshold of each
    node, level by level (feature -1: all go left), and the values of its leaves."""
    random = torch.Generator().manual_seed(seed)
    size = table.shape[1]
    score = torch.zeros(size, device="cuda")
    every = torch.arange(size, device="cuda")
    weight = weight / weight.mean()
    trees = []
    for _ in range(rounds):
        chance = torch.sigmoid(score)
        used = (torch.rand(size, generator=random) < rows).to("cuda")
        g = (weight * (chance - target) * used).contiguous()
        h = (weight * chance * (1 - chance) * used).contiguous()
        some = torch.randperm(len(table), generator=random)[: max(1, int(len(table) * features))].to("cuda")
        node = torch.zeros(size, dtype=torch.long, device="cuda")
        chosen, thresholds = [], []
        for level in range(depth):
            left = histogram(table, some, node, g, h, 2**level).cumsum(2)
            total = left[:, :, -1:]
            right = total - left
            gain = sum(sign * it[..., 0] ** 2 / (it[..., 1] + smooth) for sign, it in ((1, left), (1, right), (-1, total)))
            gain = gain * ((left[..., 1] > least) & (right[..., 1] > least))
            best, at = gain.permute(1, 0, 2).reshape(2**level, -1).max(1)
            feature = torch.where(best > 1e-3, some[at // BINS], -1)
            chosen.append(feature)
            thresholds.append(at % BINS)
            own = feature[node]
            above = (own >= 0) & (table[own.clamp(min=0), every] > thresholds[-1][node])
            node = node * 2 + above.long()
        sums = [torch.zeros(2**depth, device="cuda").index_add_(0, node, it) for it in (g, h)]
        leaves = -rate * sums[0] / (sums[1] + smooth)
        score += leaves[node]
        trees.append((torch.cat(chosen), torch.cat(thresholds), leaves, depth))
    return trees


def evaluate(trees, table):
    every = torch.arange(table.shape[1], device="cuda")
    score = torch.zeros(table.shape[1], device="cuda")
    for features, thresholds, leaves, depth in trees:
        node = torch.zeros_like(every)
        for level in range(depth):
            at = 2**level - 1 + node
            own = features[at]
            node = node * 2 + ((own >= 0) & (table[own.clamp(min=0), every] > thresholds[at])).long()
        score += leaves[node]
    return score


def fold_of(page, folds):
    return zlib.crc32(data["domain"][page].encode()) % folds


def train_types(mask, seed=0):
    table = page_rows[torch.tensor(mask, device="cuda")].T.contiguous()
    made = []
    for at in range(len(TYPES)):
        target = torch.tensor((types[mask] == at).astype(np.float32), device="cuda")
        made.append(boost(table, target, torch.ones_like(target), seed * 10 + at, **TYPE_TREES))
    return made


def type_chances(forests, mask):
    table = page_rows[torch.tensor(mask, device="cuda")].T.contiguous()
    return torch.softmax(torch.stack([evaluate(it, table) for it in forests], 1), 1).cpu().numpy()


def split(mask, folds):
    """Divides pages into those to learn from and the others, once for each fold."""
    own = np.array([fold_of(page, folds) for page in range(pages)])
    for fold in range(folds):
        yield mask & (own != fold), mask & (own == fold)


def table_of(chances, context=None):
    """The bins of all features of all blocks."""
    bins = np.stack([np.searchsorted(edge, chances[:, at]) for at, edge in enumerate(TYPE_EDGES)], 1)
    columns = [rows, page_rows[page_index], torch.tensor(bins.astype(np.uint8), device="cuda")[page_index]]
    return torch.cat(columns if context is None else [*columns, context], 1).T.contiguous()


def fit(table, mask, seed, options):
    at = torch.tensor(np.flatnonzero(mask[page_of]), device="cuda")
    return boost(table[:, at].contiguous(), labels[at], weights[at], seed, **options)


def predict(trees, table, mask, target):
    at = torch.tensor(np.flatnonzero(mask[page_of]), device="cuda")
    target[mask[page_of]] = torch.sigmoid(evaluate(trees, table[:, at].contiguous())).cpu().numpy()


def context_of(chances):
    """What the first forest says of a block and of those around it: contextFeatures.ts."""
    size = np.maximum(words, 1)
    sums, sizes = np.concatenate([[0], np.cumsum(chances * size)]), np.concatenate([[0], np.cumsum(size)])
    index, low, high = np.arange(blocks), start[page_of], start[page_of + 1]
    columns = {"own": chances}
    for step in (-2, -1, 1, 2):
        near = index + step
        inside = (near >= low) & (near < high)
        columns[f"near{step}"] = np.where(inside, chances[np.clip(near, 0, blocks - 1)], -1)
    for reach in (4, 12, 40):
        a, b = np.maximum(low, index - reach), np.minimum(high, index + reach + 1)
        columns[f"around{reach}"] = (sums[b] - sums[a]) / (sizes[b] - sizes[a])
    for family in FAMILIES:
        key = page_of.astype(np.int64) * 1_000_000 + data["families"][family]
        _, member = np.unique(key, return_inverse=True)
        columns[family] = (np.bincount(member, chances * size) / np.bincount(member, size))[member]
    total, all_words = (np.bincount(page_of, it, minlength=pages) for it in (chances * size, size))
    columns["page"] = (total / np.maximum(all_words, 1))[page_of]
    columns["words"] = np.log1p(total)[page_of]
    expected, least = np.zeros(pages), np.zeros(pages)
    for page in range(pages):
        keep, expected[page] = choose(chances[span(page)], words[span(page)])
        least[page] = chances[span(page)][keep].min() if keep.any() else 0
    columns["expected"] = expected[page_of]
    columns["above"] = chances - least[page_of]
    return [f"first.{name}" for name in columns], np.stack(list(columns.values()), 1).astype(np.float32)


def train(learn, others):
    """Trains on some pages; returns the forests and what they say of the other pages."""
    chances = np.zeros((pages, len(TYPES)), np.float32)
    for seed, (a, b) in enumerate(split(learn, 4)):
        chances[b] = type_chances(train_types(a, seed), b)
    type_forests = train_types(learn)
    chances[others] = type_chances(type_forests, others)
    table = table_of(chances)
    first, found = fit(table, learn, 1, FIRST_TREES), np.zeros(blocks)
    # The second forest learns from what the first one says of pages that it has not seen.
    for seed, (a, b) in enumerate(split(learn, 4)):
        predict(fit(table, a, 2 + seed, FIRST_TREES), table, b, found)
    predict(first, table, others, found)
    names, context = context_of(found)
    edges = []
    for values in context[learn[page_of]].T:
        steps = np.unique(np.quantile(values[::11], np.linspace(0, 1, BINS - 2)))
        edges.append(((steps[1:] + steps[:-1]) / 2).astype(np.float32))
    bins = np.stack([np.searchsorted(edge, context[:, at]) for at, edge in enumerate(edges)], 1).astype(np.uint8)
    table = table_of(chances, torch.tensor(bins, device="cuda"))
    second = fit(table, learn, 9, SECOND_TREES)
    predict(second, table, others, found)
    return dict(types=type_forests, first=first, second=second, names=names, edges=edges), found, chances


def stored(trees, edges, used):
    """The nodes in preorder, as forest.ts reads them."""
    feature, value, above = [], [], []

    def put(tree, level, at):
        features, thresholds, leaves, depth = tree
        if level == depth:
            feature.append(-1), value.append(float(leaves[at])), above.append(0)
            return
        own, threshold = int(features[2**level - 1 + at]), int(thresholds[2**level - 1 + at])
        if own < 0 or threshold >= len(edges[own]):
            put(tree, level + 1, 2 * at)
            return
        node = len(feature)
        feature.append(used.setdefault(own, len(used))), value.append(float(edges[own][threshold])), above.append(0)
        put(tree, level + 1, 2 * at)
        above[node] = len(feature) - node
        put(tree, level + 1, 2 * at + 1)

    for *arrays, depth in trees:
        put([*(it.cpu().numpy() for it in arrays), depth], 0, 0)
    pairs = ((feature, "<i2"), (value, "<f4"), (above, "<u2"))
    return dict(
        zip(
            ("feature", "value", "above"),
            (base64.b64encode(np.array(it, kind).tobytes()).decode() for it, kind in pairs),
        )
    )


def calibration(expected, measured):
    """Points of the ascending function that fits best (pool adjacent violators)."""
    pools = []
    for x, y in sorted(zip(expected, measured)):
        pools.append([y, 1, x, x])
        while len(pools) > 1 and pools[-2][0] >= pools[-1][0]:
            y2, n2, _, last = pools.pop()
            y1, n1, first, _ = pools.pop()
            pools.append([(y1 * n1 + y2 * n2) / (n1 + n2), n1 + n2, first, last])
    return [[round((first + last) / 2, 4), round(float(y), 4)] for y, _, first, last in pools]


clean = np.array([f1(page, data["labels"][span(page)] >= 0.5) for page in range(pages)]) > CLEAN
clean &= np.array([len(want) > 0 for want in data["want"]])
scores, right = collections.defaultdict(list), []
for fold in PARTS:
    learn, others = np.isin(part, PARTS) & (part != fold) & clean, part == fold
    _, found, chances = train(learn, others)
    right += list(chances[others].argmax(1) == types[others])
    for page in np.flatnonzero(others):
        keep, expected = choose(found[span(page)], words[span(page)])
        scores[data["type"][page]].append((expected, f1(page, keep)))
every = sum(scores.values(), [])
print({name: round(float(np.mean([it for _, it in own])), 3) for name, own in sorted(scores.items())})
print("all", round(float(np.mean([it for _, it in every])), 4), "types", round(float(np.mean(right)), 3))
learn = np.isin(part, PARTS) & clean
model, _, _ = train(learn, np.zeros(pages, bool))
edges = [*data["edges"], *data["page_edges"], *TYPE_EDGES, *model["edges"]]
names = [*data["names"]["block"], *data["names"]["page"], *(f"type.{it}" for it in TYPES), *model["names"]]
used, used_page = {}, {}
first, second = (stored(model[it], edges, used) for it in ("first", "second"))
type_forests = [stored(it, data["page_edges"], used_page) for it in model["types"]]
made = {
    "features": {
        "block": [names[at] for at in used],
        "page": [data["names"]["page"][at] for at in used_page],
    },
    "first": first,
    "second": second,
    "types": type_forests,
    "calibration": calibration(*zip(*every)),
}
with open(out, "w") as target:
    json.dump(made, target, separators=(",", ":"))
