"""
Asks checkdmarc (https://pypi.org/project/checkdmarc/) whether records about mail are valid. stdin: JSON with the port of a
name server on 127.0.0.1, lists of domains (spf, dmarc, tlsRpt, mtaSts) and a list of MTA-STS policies. stdout: JSON of the
same shape; each domain or policy with its verdict, and domains for SPF with the number of look-ups and void look-ups.
"""

import json
import sys

import dns.resolver
from checkdmarc.dmarc import check_dmarc
from checkdmarc.mta_sts import MTASTSError, parse_mta_sts_policy, parse_mta_sts_record, query_mta_sts_record
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


result = {
    "spf": {domain: spf(domain) for domain in task["spf"]},
    "dmarc": {domain: dmarc(domain) for domain in task["dmarc"]},
    "tlsRpt": {
        domain: {"valid": check_smtp_tls_reporting(domain, resolver=resolver)["valid"]} for domain in task["tlsRpt"]
    },
    "mtaSts": {domain: {"valid": accepts(lambda: check_record(domain))} for domain in task["mtaSts"]},
    "policies": [accepts(lambda: parse_mta_sts_policy(policy)) for policy in task["policies"]],
}
json.dump(result, sys.stdout)
