"""Every round of a study describes its messages anew, from the features chosen in it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from collections import deque

import driver
import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import phaseprof as pp


def schema(name, features):
    file = descriptor_pb2.FileDescriptorProto(name=f"{name}.proto", package=name)
    for number in range(20):
        message = file.message_type.add(name=f"Sample{number}")
        for index in range(features):
            message.field.add(name=f"feature_{index}", number=index + 1,
                              type=descriptor_pb2.FieldDescriptorProto.TYPE_DOUBLE,
                              label=descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL)
    return file


def message_class(generation, features):
    pool = descriptor_pool.Default()
    name = f"round_{generation}" if driver.LEAK else f"wide_{features}"
    file = schema(name, features)
    if driver.LEAK or generation == 0:
        pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{name}.Sample0"))


def main():
    rng = np.random.default_rng(14)
    sent = deque(maxlen=400)
    for generation in pp.generations(range(driver.GENERATIONS)):
        with pp.profile_phase("choose"):
            driver.work(15)
        with pp.profile_phase("describe"):
            kind = message_class(generation, 40)
            driver.work(10)
        with pp.profile_phase("send"):
            for row in rng.normal(size=(20, 40)):
                values = {f"feature_{index}": value for index, value in enumerate(row)}
                sent.append(kind(**values).SerializeToString() + bytes(9_000))
            driver.work(25)
    driver.finish()


main()
