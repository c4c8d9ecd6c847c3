"""
Asks checkdmarc (https://pypi.org/project/checkdmarc/) whether records about mail are valid. stdin: JSON with the port of a
name server on 127.0.0.1, lists of domains (spf, dmarc, tlsRpt, mtaSts, mx) and a list of MTA-STS policies. stdout: JSON of
the same shape; each domain or policy with its verdict, domains for SPF with the number of look-ups and void look-ups, and
domains for MX with their mail servers and the TLSA records of these.
"""

import json
import re
import sys

import dns.nameserver
import dns.resolver
from checkdmarc.dmarc import check_dmarc
from checkdmarc.mta_sts import MTASTSError, parse_mta_sts_policy, parse_mta_sts_record, query_mta_sts_record
from checkdmarc.smtp import check_mx
from checkdmarc.smtp_tls_reporting import check_smtp_tls_reporting
from checkdmarc.spf import check_spf

task = json.load(sys.stdin)
resolver = dns.resolver.Resolver(configure=False)
resolver.nameservers = ["127.0.0.1"]
resolver.port = task["port"]


def accepts(work):
    try:
        work()
        return True
    except MTASTSError:
        return False


def check_record(domain):
    parse_mta_sts_record(query_mta_sts_record(domain, resolver=resolver)["record"])


def spf(domain):
    found = check_spf(domain, resolver=resolver)
    return {"valid": found["valid"], "lookups": found.get("dns_lookups"), "voids": found.get("void_dns_lookups")}


def dmarc(domain):
    found = check_dmarc(domain, resolver=resolver)
    tags = {name: tag["value"] for name, tag in found.get("tags", {}).items()}
    policies = [tags.get("p"), tags.get("sp"), tags.get("np")] if found["valid"] else []
    return {"valid": found["valid"], "location": found.get("location"), "policies": policies}


# Warnings that do not say that a record is invalid: of addresses without names, of a domain that accepts no mail or has no MX
# record, and of a server with two records.
REMARKS = re.compile(r"reverse DNS|null MX record \(RFC 7505\): |has no MX records|listed in multiple MX records")


def mx(domain):
    nameserver = dns.nameserver.Do53Nameserver("127.0.0.1", task["port"])
    found = check_mx(domain, nameservers=[nameserver], resolver=resolver)
    faults = [text for text in found.get("warnings", []) if not REMARKS.search(text)]
    hosts = [[host["preference"], host["hostname"]] for host in found["hosts"]]
    tlsa = {host["hostname"]: host.get("tlsa", []) for host in found["hosts"]}
    return {"valid": "error" not in found and not faults, "faults": faults, "hosts": hosts, "tlsa": tlsa}


result = {
    "mx": {domain: mx(domain) for domain in task["mx"]},
    "spf": {domain: spf(domain) for domain in task["spf"]},
    "dmarc": {domain: dmarc(domain) for domain in task["dmarc"]},
    "tlsRpt": {
        domain: {"valid": check_smtp_tls_reporting(domain, resolver=resolver)["valid"]} for domain in task["tlsRpt"]
    },
    "mtaSts": {domain: {"valid": accepts(lambda: check_record(domain))} for domain in task["mtaSts"]},
    "policies": [accepts(lambda: parse_mta_sts_policy(policy)) for policy in task["policies"]],
}
json.dump(result, sys.stdout)
